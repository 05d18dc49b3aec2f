#!/usr/bin/env python3
"""Whether pages are written as tests/e2e/docs_test.py expects: `prose.py FILE...` prints each fault as
FILE:LINE, what is wrong, the words. Exit code 1 where there is one."""
import pathlib
import re
import sys

import markdown_page

MOST_WORDS_OF_A_SENTENCE = 30
MOST_WORDS_OF_A_PARAGRAPH = 120
TERMS_FILE = pathlib.Path(__file__).with_name("banned_terms.txt")


def banned_terms():
    """Pairs of a pattern and what to write instead."""
    terms = []
    for line in TERMS_FILE.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            term, instead = line.split("=>")
            terms.append((re.compile(rf"\b(?:{term.strip()})\b", re.I), instead.strip()))
    return terms


def terms_in(text, terms):
    """Triples of position, the words found, and what to write instead."""
    return [(found.start(), found.group(0), instead) for pattern, instead in terms
            for found in pattern.finditer(text)]


def faults(source, terms):
    """Pairs of line and what is wrong there, in order."""
    page, found = markdown_page.parse(source), []
    for paragraph in page.paragraphs:
        words = markdown_page.word_count(paragraph.text)
        if words > MOST_WORDS_OF_A_PARAGRAPH:
            found.append((paragraph.line, f"paragraph of {words} words: {_shortened(paragraph.text, 60)}"))
        for line, sentence in paragraph.sentences():
            words = markdown_page.word_count(sentence)
            if words > MOST_WORDS_OF_A_SENTENCE:
                found.append((line, f"sentence of {words} words: {_shortened(sentence, 400)}"))
    for line, text in [(paragraph.line, paragraph.text) for paragraph in page.paragraphs] + page.others:
        for at, term, instead in terms_in(text, terms):
            found.append((line + text.count("\n", 0, at), f"\"{_shortened(term, 60)}\", write: {instead}"))
    return sorted(found)


def _shortened(text, characters):
    text = " ".join(text.split())
    return text if len(text) <= characters else text[:characters] + "…"


def main():
    terms, count = banned_terms(), 0
    for name in sys.argv[1:]:
        for line, fault in faults(pathlib.Path(name).read_text(encoding="utf-8"), terms):
            print(f"{name}:{line}: {fault}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
