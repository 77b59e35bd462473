import base64, hashlib, hmac, json, time


def receive(db, headers, body, secrets, handle):
    """Prove a delivery and run handle(db, event) once. Returns the status to answer."""
    id, at, given = (headers.get("webhook-" + name, "") for name in ("id", "timestamp", "signature"))
    if not (at.isascii() and at.isdigit() and len(at) == 10) or abs(time.time() - int(at)) > 300:
        return 401
    proven = False
    for secret in secrets:  # two during a rotation
        key = base64.b64decode(secret.removeprefix("whsec_"))
        mac = hmac.new(key, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
        want = b"v1," + base64.b64encode(mac)
        proven |= any(hmac.compare_digest(want, one.encode()) for one in given.split(" "))
    if not proven:
        return 401
    with db:  # one transaction: an exception rolls back, and notifyd sends the event again
        claim = "insert into notifyd_inbox (kind, key, number, at) values ('event', ?, 0, ?) on conflict do nothing"
        if db.execute(claim, (id, int(time.time()))).rowcount == 1:
            handle(db, json.loads(body))
    return 204
