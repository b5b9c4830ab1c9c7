// Reaches for all that JavaScript offers here; for what it does not, it says so.

const missing = (what) => {
  throw `JavaScript has no ${what} here`;
};

export const ambient = {
  say(text) {
    console.log(text);
    console.error(text);
  },
  environment: () => Object.entries(globalThis.process?.env ?? {}),
  arguments: () => globalThis.process?.argv ?? [],
  workingDirectory: () => missing('working directory'),
  nowMs: () => BigInt(Date.now()),
  random: () => crypto.getRandomValues(new BigUint64Array(1))[0],
  readStandardInput: () => missing('standard input'),
  readFile: () => missing('files'),
  writeFile: () => missing('files'),
  listDir: () => missing('files'),
  async connect(host, port) {
    let reply;
    try {
      reply = await fetch(`http://${host}:${port}/`);
    } catch (problem) {
      throw `${problem}`;
    }
    return `status ${reply.status}`;
  },
  resolve: () => missing('names'),
  sleepMs: (milliseconds) => new Promise((done) => setTimeout(done, milliseconds)),
};
