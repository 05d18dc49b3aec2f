"""What the tests of HTML pages share: opening them, looking at them, names that would do harm."""
import os
import pathlib

import program

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>'\");DROP TABLE nodes;--\u2028"


def shot(page, name):
    if "REPRISE_SHOTS" in os.environ:
        page.screenshot(pathlib.Path(os.environ["REPRISE_SHOTS"]) / f"{name}.png")


class PageTest(program.ProgramTest):
    """Tests with a page in Chromium."""

    def opened(self, page, path, fragment=""):
        seconds = page.open(path, fragment)
        self.assertEqual(page.problems, [])
        # The page itself is all that was asked for.
        self.assertEqual({url.split("#")[0] for url in page.requests} - {"about:blank"}, {f"file://{path}"})
        self.assertEqual(page.evaluate("document.documentElement.dataset.errors"), "0")
        page.requests.clear()
        return seconds

    def sections(self, page):
        return page.evaluate("Object.fromEntries([...document.querySelectorAll('section')].map("
                             "s => [s.id, s.querySelectorAll('figure svg path').length]))")

    def check_reachable(self, page):
        """Every chart can be reached by keyboard and has its words."""
        self.assertEqual(page.evaluate("[...document.querySelectorAll('figure svg')].filter(s => s.tabIndex !== 0 "
                                       "|| !s.getAttribute('aria-label')).length"), 0)

    def check_harmless(self, page):
        self.assertIsNone(page.evaluate("window.hacked"))
        self.assertEqual(page.evaluate("document.querySelectorAll('img').length"), 0)
        self.assertEqual(page.evaluate("document.querySelectorAll('script').length"), 2)

    def check_themes(self, page, name):
        back = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(back)
        page.emulate(theme="dark")
        dark = page.evaluate(back)
        self.assertNotEqual(light, dark)
        shot(page, f"{name}-dark")
        page.evaluate("document.getElementById('theme').click()")
        self.assertEqual(page.evaluate(back), light)
        page.evaluate("document.getElementById('theme').click()")
        self.assertEqual(page.evaluate(back), dark)
        page.emulate(theme="dark", media="print")
        self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "light")
        self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('nav')).display"), "none")
        shot(page, f"{name}-print")
        page.emulate()
        self.assertGreater(len(page.pdf()), 50_000)
