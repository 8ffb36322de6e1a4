"""A server of OpenAI's chat completions, for tests of what asks one."""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Stub:
    """Cites the first source that it is shown, or does what ``reply`` says."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.status = 200
        self.reply: str | None = None
        self.seconds = 0.0
        self.streams = False
        self.hold = threading.Event()
        self.hold.set()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.asked.append((self.path, body, self.headers["Authorization"]))
                time.sleep(stub.seconds)
                stub.hold.wait(30)
                key = re.findall(r"^\[(\w+)\]", body["messages"][1]["content"], re.MULTILINE)[0]
                message = {"role": "assistant", "content": f"It was built there [{key}]."}
                told = json.dumps({"choices": [{"message": message}]})
                data = (stub.reply if stub.reply is not None else told).encode()
                self.send_response(stub.status)
                if stub.streams and body.get("stream"):
                    parts = ["It was ", "built there ", f"[{key}]."]
                    events = [{"choices": [{"delta": {"content": part}}]} for part in parts]
                    told = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
                    data = f": hello \n\n{told}data: [DONE]\n\n".encode()
                    self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
