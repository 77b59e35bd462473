# Serves docs/receive/receive.py for a test: serve.py FOLDER DATABASE SECRET…
import http.server, sqlite3, sys

folder, database, *secrets = sys.argv[1:]
sys.path.insert(0, folder)
sys.dont_write_bytecode = True
from receive import receive


def handle(db, event):
    db.execute("insert into bookings (event_id, fen, stale) values (?, ?, 0)", (event["id"], event["order"]["paid_fen"]))
    if event["reason"] == "broken":
        raise RuntimeError("the handler of the test is broken")


class Deliveries(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        db = sqlite3.connect(database, timeout=20)
        try:
            status = receive(db, self.headers, body, secrets, handle)
        except RuntimeError:
            status = 500
        finally:
            db.close()
        self.send_response(status)
        self.end_headers()

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Deliveries)
print(server.server_port, flush=True)
server.serve_forever()
