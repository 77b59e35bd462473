import java.security.MessageDigest;
import java.sql.Connection;
import java.util.Base64;
import java.util.List;
import java.util.function.UnaryOperator;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

final class Receive {
    interface Handler { void handle(Connection db, byte[] event) throws Exception; } // the event is JSON

    /** Proves a delivery and runs the handler once. Returns the status to answer; db is in no transaction yet. */
    static int receive(Connection db, UnaryOperator<String> header, byte[] body, List<String> secrets, Handler handler) throws Exception {
        String id = header.apply("webhook-id"), at = header.apply("webhook-timestamp"), given = header.apply("webhook-signature");
        long now = System.currentTimeMillis() / 1000;
        if (id == null || given == null || at == null || !at.matches("[0-9]{10}") || Math.abs(now - Long.parseLong(at)) > 300) return 401;
        boolean proven = false;
        for (String secret : secrets) { // two during a rotation
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")), "HmacSHA256"));
            mac.update((id + "." + at + ".").getBytes("UTF-8"));
            byte[] want = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes("UTF-8");
            for (String one : given.split(" ")) proven |= MessageDigest.isEqual(want, one.getBytes("UTF-8"));
        }
        if (!proven) return 401;
        db.setAutoCommit(false);
        try (var claim = db.prepareStatement("insert into notifyd_inbox (kind, key, number, at) values ('event', ?, 0, ?) on conflict do nothing")) {
            claim.setString(1, id);
            claim.setLong(2, now);
            if (claim.executeUpdate() == 1) handler.handle(db, body);
            db.commit();
        } catch (Exception e) { // notifyd sends the event again
            db.rollback();
            throw e;
        }
        return 204;
    }
}
