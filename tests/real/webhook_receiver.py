# SPDX-License-Identifier: Apache-2.0
"""A receiver of webhooks on any free port of this machine, which prints the port.

Checks each signature with the function of docs/webhooks.md, and appends a line of JSON for each
request to a file.  The first message to /cloud is answered with 500, and all to /no with 404.

usage: webhook_receiver.py PAGE SECRET_FILE OUT_FILE
"""
import http.server
import json
import re
import sys

page, secret_file, out_file = sys.argv[1:]
with open(page, encoding="utf-8") as file:
    code = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL).group(1)
names = {}
exec(code, names)  # the page's own words
with open(secret_file, encoding="ascii") as file:
    secret = file.read().strip()
asked = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_slack = self.path.startswith("/slack")
        row = {
            "path": self.path,
            "type": self.headers["Content-Type"],
            "id": self.headers["webhook-id"],
            "body": json.loads(body),
            "is_signed": not is_slack and names["verify"](self.headers, body, secret),
            "is_forged": not is_slack and names["verify"](self.headers, body + b" ", secret),
        }
        if self.path.startswith("/no"):
            status = 404
        elif self.path == "/cloud" and "/cloud" not in asked:
            status = 500
        else:
            status = 204
        asked.append(self.path)
        row["status"] = status
        with open(out_file, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
