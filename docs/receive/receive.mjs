import { createHmac, timingSafeEqual } from "node:crypto";

// Proves a delivery and runs handle(tx, event) once. Returns the status to answer.
export async function receive(pool, headers, body, secrets, handle) {
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": given = "" } = headers;
  if (!/^\d{10}$/.test(at) || Math.abs(Date.now() / 1000 - at) > 300) return 401;
  const proven = secrets.some((secret) => { // two during a rotation
    const mac = createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"));
    const want = Buffer.from("v1," + mac.update(`${id}.${at}.`).update(body).digest("base64"));
    return given.split(" ").map((one) => Buffer.from(one)).some((one) => one.length === want.length && timingSafeEqual(one, want));
  });
  if (!proven) return 401;
  const tx = await pool.connect();
  try { // one transaction: an exception rolls back, and notifyd sends the event again
    await tx.query("begin");
    const claim = "insert into notifyd_inbox (kind, key, number, at) values ('event', $1, 0, $2) on conflict do nothing";
    const { rowCount } = await tx.query(claim, [id, Math.floor(Date.now() / 1000)]);
    if (rowCount === 1) await handle(tx, JSON.parse(body));
    await tx.query("commit");
  } catch (err) {
    await tx.query("rollback");
    throw err;
  } finally {
    tx.release();
  }
  return 204;
}
