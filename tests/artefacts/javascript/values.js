// An ordinary component: echoes values. Whatever is thrown is the error of the interface.

const S64_MAX = 2n ** 63n - 1n;

export const values = {
  echoItem: (item) => item,
  echoU64: (number) => number,
  echoBytes: (data) => data,
  echoOption: (value) => value,
  divide(dividend, divisor) {
    // componentize-js hands an s64 over as the unsigned number of the same bits.
    dividend = BigInt.asIntN(64, dividend);
    divisor = BigInt.asIntN(64, divisor);
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
