"""An ordinary component: echoes values, and reaches for all that Python offers."""

import os
import random
import socket
import sys
import time

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.values import Trouble_ByZero, Trouble_TooLarge

S64_MAX = 2**63 - 1


def signed(number):
    """componentize-py 0.25.1 hands an s64 over as the unsigned number of the same bits."""
    return number - 2**64 if number > S64_MAX else number


class Values(exports.Values):
    def echo_item(self, item):
        return item

    def echo_u64(self, number):
        return number

    def echo_bytes(self, data):
        return data

    def echo_option(self, value):
        return value

    def divide(self, dividend, divisor):
        if divisor == 0:
            raise Err(Trouble_ByZero())
        dividend, divisor = signed(dividend), signed(divisor)
        quotient = abs(dividend) // abs(divisor)
        if (dividend < 0) != (divisor < 0):
            quotient = -quotient
        if quotient > S64_MAX:
            raise Err(Trouble_TooLarge(dividend))
        return quotient

    def crash(self, message):
        raise RuntimeError(message)

    def spin(self):
        while True:
            pass


def attempt(action):
    """What an action gave, or what Python says about why not."""
    try:
        return action()
    except Exception as problem:  # whatever it is, the caller wants to see it
        raise Err(f"{type(problem).__name__}: {problem}")


class Ambient(exports.Ambient):
    def say(self, text):
        print(text, flush=True)
        print(text, file=sys.stderr, flush=True)

    def environment(self):
        return sorted(os.environ.items())

    def arguments(self):
        return list(sys.argv)

    def working_directory(self):
        return attempt(os.getcwd)

    def now_ms(self):
        return int(time.time() * 1000)

    def random(self):
        return random.SystemRandom().getrandbits(64)

    def read_standard_input(self):
        return attempt(sys.stdin.read)

    def read_file(self, path):
        def read():
            with open(path, encoding="utf-8") as file:
                return file.read()

        return attempt(read)

    def write_file(self, path, text):
        def write():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        attempt(write)

    def list_dir(self, path):
        return attempt(lambda: sorted(os.listdir(path)))

    def connect(self, host, port):
        def connect():
            with socket.create_connection((host, port), timeout=1):
                return "connected"

        return attempt(connect)

    def resolve(self, host):
        return attempt(lambda: sorted({found[4][0] for found in socket.getaddrinfo(host, 80)}))

    def sleep_ms(self, milliseconds):
        time.sleep(milliseconds / 1000)
