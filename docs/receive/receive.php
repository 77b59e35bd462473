<?php
// Proves a delivery and runs $handle($db, $event) once. Returns the status to answer.
function receive(PDO $db, array $headers, string $body, array $secrets, callable $handle): int
{
    [$id, $at, $given] = array_map(fn($name) => $headers["webhook-$name"] ?? '', ['id', 'timestamp', 'signature']);
    if (!preg_match('/^\d{10}$/D', $at) || abs(time() - (int) $at) > 300) return 401;
    $proven = false;
    foreach ($secrets as $secret) { // two during a rotation
        $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
        $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $key, true));
        foreach (explode(' ', $given) as $one) $proven = hash_equals($want, $one) || $proven;
    }
    if (!$proven) return 401;
    $db->beginTransaction();
    try { // one transaction: an exception rolls back, and notifyd sends the event again
        $claim = $db->prepare("insert into notifyd_inbox (kind, key, number, at) values ('event', ?, 0, ?) on conflict do nothing");
        $claim->execute([$id, time()]);
        if ($claim->rowCount() === 1) $handle($db, json_decode($body, true, 512, JSON_THROW_ON_ERROR));
        $db->commit();
    } catch (Throwable $e) {
        $db->rollBack();
        throw $e;
    }
    return 204;
}
