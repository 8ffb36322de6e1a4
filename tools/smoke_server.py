"""Serve an index of one passage: the page is there, and the client asks and teaches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from hebbgraph_server import Client

from hebbgraph import HebbianIndex

with HebbianIndex.open("served.hebb") as index:
    index.add([{"id": "dogs", "text": "Dogs sleep in the wood store."}])
command = [str(Path(sys.executable).with_name("hebbgraph")), "serve", "served.hebb", "--port", "0"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
try:
    assert server.stdout
    url = next(word for line in server.stdout for word in line.split() if "http://" in word)
    assert b"<html" in urlopen(url).read()
    with Client(url) as client:
        recall = client.recall("Where do dogs sleep?")
        client.reinforce(recall, cited=[recall["hits"][0]["id"]])
finally:
    server.terminate()
    server.wait(60)
