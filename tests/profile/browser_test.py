#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `profile` in a real browser: headless Chromium, driven over the DevTools protocol's pipe.

  browser_test.py SASSEMU SOURCES                        the test; skipped (exit code 77) where there is no chromium
  browser_test.py SASSEMU SOURCES --show PAGE OUT.png    a picture of a page, 1100 x 560; says how long it took to open
  browser_test.py SASSEMU SOURCES --large                200 kernels and 10^9 warp instructions: size, and time to open

"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from browser import CHROMIUM, Browser

PROGRAM, ROOT = (os.path.abspath(p) for p in sys.argv[1:3])


def run(*args):
    subprocess.run([PROGRAM, *args], check=True, stdout=subprocess.DEVNULL, timeout=900)


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = os.path.join(folder.name, "p.html")
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def shown(self, column):
        """A column of the SASS table, as numbers."""
        return self.browser.value(
            "(() => { const at = [...document.querySelectorAll('#sass th')].findIndex(h => h.textContent.startsWith(%s));"
            "return [...document.querySelectorAll('#sass tbody tr')].map(r => Number(r.cells[at].textContent.replaceAll(',', '')));"
            "})()" % json.dumps(column))

    def texts(self):
        return self.browser.value("[...document.querySelectorAll('#sass tbody tr')].map(r => r.cells[1].textContent).join('\\n')")

    def chosen(self):
        return self.browser.value("[...document.querySelectorAll('#sass tr.chosen')].map(r => parseInt(r.cells[0].textContent, 16))")

    def test_what_a_user_does(self):
        run("run", os.path.join(ROOT, "cubins", "hmma_gemm", "plan.json"), "--arch", "sm_90", "--plugin", "profile:html=" + self.page)
        b = self.browser
        b.open(self.page)
        issued, code = self.shown("issued"), self.texts()
        self.assertGreater(len(issued), 100)
        # Sorting: down, up, and by the keyboard.
        b.click("#sass th", "issued")
        self.assertEqual(self.shown("issued"), sorted(issued, reverse=True))
        b.click("#sass th", "issued")
        self.assertEqual(self.shown("issued"), sorted(issued))
        self.assertTrue(b.value("document.querySelector('#sass thead').textContent.includes('issued ▲')"))
        b.value("[...document.querySelectorAll('#sass th')].find(h => h.textContent === 'pc').focus()")
        b.key("Enter")
        self.assertEqual(self.shown("issued"), issued)
        # Keys: rows, heat, kernels.
        b.value("document.querySelector('#sass').focus()")
        b.key("j")
        b.key("j")
        self.assertIn(16, self.chosen())
        b.key("k")
        self.assertIn(0, self.chosen())
        b.key("n")
        b.key("n")
        b.key("p")
        kernels = b.value("[...document.querySelector('#kernel').options].map(o => o.textContent)")
        self.assertEqual(len(kernels), 3)
        b.key("]")
        self.assertEqual(b.value("document.querySelector('#kernel').selectedIndex"), 1)
        self.assertNotEqual(self.texts(), code)
        b.key("[")
        self.assertEqual(self.texts(), code)
        # A change of the heat colours other rows.
        b.value("(() => { const h = document.querySelector('#heat'); h.value = 'conflicts'; h.onchange(); })()")
        self.assertGreater(b.value("document.querySelectorAll('#roof circle').length"), 0)
        self.assertGreater(b.picture(self.page + ".png"), 10000)
        self.assertEqual(b.complaints, [])

    def test_a_mistake_is_seen(self):
        """The test's own eyes: an error, and a request to the network, are complaints."""
        with open(self.page, "w", encoding="utf-8") as f:
            f.write("<script>nothing()</script><img src='http://127.0.0.1:9/x'>")
        self.browser.open(self.page)
        self.assertGreaterEqual(len(self.browser.complaints), 2)


def large(folder, kernels=200, instructions=1500, issued=10 ** 9):
    """A page of that many kernels, with that many warp instructions in all."""
    warps, body = 8 * 264, instructions - 20
    rounds = issued // (kernels * warps * body) + 1
    text = ["    .target sm_90"]
    for k in range(kernels):
        text += [".kernel kernel_%d" % k, "    MOV R0, %#x" % rounds, "LOOP%d:" % k]
        text += ["    " + ("FFMA R%d, R%d, R%d, R%d", "IMAD R%d, R%d, R%d, R%d", "FFMA R%d, R%d, R%d, R%d",
                           "IADD3 R%d, R%d, R%d, R%d")[n % 4] % tuple(2 + (n * s + k) % 60 for s in (1, 3, 7, 11)) for n in range(body)]
        text += ["    IADD3 R0, R0, -0x1, RZ", "    ISETP.GT.AND P0, PT, R0, RZ, PT", "@P0 BRA LOOP%d" % k, "    EXIT"]
    source, cubin, page = (os.path.join(folder, n) for n in ("k.sass", "k.cubin", "p.html"))
    with open(source, "w", encoding="utf-8") as f:
        f.write("\n".join(text) + "\n")
    run("asm", source, "-o", cubin)
    with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as f:
        json.dump({"arch": "sm_90", "module": "k.cubin", "launches": [
            {"kernel": "kernel_%d" % k, "grid": [264, 1, 1], "block": [256, 1, 1], "args": []} for k in range(kernels)],
            "expect": {"status": "ok"}}, f)
    run("run", os.path.join(folder, "plan.json"), "--plugin", "profile:top=1,html=" + page)
    return page


def main():
    if not CHROMIUM:
        print("no chromium")
        return 77
    if sys.argv[3:4] == ["--show"]:
        browser = Browser()
        print("opened in %.2f s" % browser.open(sys.argv[4]))
        print("%d bytes" % browser.picture(sys.argv[5]), browser.complaints)
        browser.close()
        return 0
    if sys.argv[3:4] == ["--large"]:
        with tempfile.TemporaryDirectory() as folder:
            page = large(folder)
            browser = Browser()
            seconds = sorted(browser.open(page) for _ in range(5))
            facts = browser.value("all.kernels.length + ' kernels, ' + all.kernels.reduce((n, k) => n + k.totals.issued, 0) + "
                                  "' warp instructions'")
            print("%s, %.1f MB; opened in %s s; complaints: %s" % (
                facts, os.path.getsize(page) / 1e6, " ".join("%.2f" % s for s in seconds), browser.complaints))
            browser.close()
        return 0
    return not unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
