// Serves docs/receive/receive.mjs for a test: serve.mjs RECEIVE DATABASE SECRET…
// DATABASE is a URL where the test runs statements for us, on connections that
// behave like those of node-postgres.
import { createServer } from "node:http";

const [, , module, database, ...secrets] = process.argv;
const { receive } = await import(module);

async function ask(path, question = {}) {
  const answer = await fetch(database + path, { method: "POST", body: JSON.stringify(question) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

const pool = {
  async connect() {
    const { conn } = await ask("/connect");
    return {
      query: (text, values = []) => ask("/query", { conn, text, values }),
      release: () => ask("/release", { conn }),
    };
  },
};

async function handle(tx, event) {
  await tx.query("insert into bookings (event_id, fen, stale) values ($1, $2, 0)", [event.id, event.order.paid_fen]);
  if (event.reason === "broken") throw new Error("the handler of the test is broken");
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", async () => {
    response.statusCode = await receive(pool, request.headers, Buffer.concat(chunks), secrets, handle).catch(() => 500);
    response.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
