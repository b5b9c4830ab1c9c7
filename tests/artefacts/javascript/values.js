// An ordinary component: echoes values. Whatever is thrown is the error of the interface.

const S64_MAX = 2n ** 63n - 1n;

export const values = {
  echoItem: (item) => item,
  echoU64: (number) => number,
  echoBytes: (data) => data,
  echoOption: (value) => value,
  divide(dividend, divisor) {
    if (divisor === 0n) {
      throw { tag: 'by-zero' };
    }
    const quotient = dividend / divisor;
    if (quotient > S64_MAX) {
      throw { tag: 'too-large', val: dividend };
    }
    return quotient;
  },
  crash(message) {
    throw new Error(message);
  },
  spin() {
    for (;;) {}
  },
};
