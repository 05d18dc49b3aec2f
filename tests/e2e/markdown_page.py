"""A page of documentation in parts: paragraphs, headings, links, blocks of commands."""
import dataclasses
import re

FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\S*)")
ITEM = re.compile(r"^(\s*)([-*+]|\d+[.)])\s+")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
COMMENT = re.compile(r"<!--.*?-->", re.S)
CODE = re.compile(r"(`+)(.+?)\1", re.S)
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
TAG = re.compile(r"</?[A-Za-z][^>]*>")
# Periods that end no sentence.
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|vs|cf|etc|approx|Fig|No)\.$")
SENTENCE_END = re.compile(r"[.!?…][)\]\"'”’*_]*\s+(?=[^a-z\s])")


@dataclasses.dataclass
class Paragraph:
    """Prose without markup: `line` of its first word, inline code as one word."""
    line: int
    text: str

    def sentences(self):
        """Pairs of line and sentence."""
        start, found = 0, []
        for end in SENTENCE_END.finditer(self.text):
            if ABBREVIATION.search(self.text[start:end.start() + 1]):
                continue
            found.append((start, self.text[start:end.end()]))
            start = end.end()
        found.append((start, self.text[start:]))
        return [(self.line + self.text.count("\n", 0, at), sentence) for at, sentence in found
                if sentence.strip()]


@dataclasses.dataclass
class Block:
    """Code. `language` is empty where none is given; `mark` is the text of a comment just above."""
    line: int
    language: str
    mark: str
    text: str
    fenced: bool = True


@dataclasses.dataclass
class Page:
    paragraphs: list
    blocks: list
    anchors: set
    links: list   # pairs of line and target
    others: list  # pairs of line and text: headings, rows of tables


def word_count(text):
    return sum(1 for word in text.split() if re.search(r"\w", word))


def plain(text):
    """Prose as it is read: inline code becomes one word, links their text."""
    text = CODE.sub(lambda code: "CODE" + "\n" * code.group(0).count("\n"), text)
    for _ in range(2):  # an image within a link
        text = LINK.sub(lambda link: link.group(1), text)
    return re.sub(r"\*{1,3}|(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)", "", TAG.sub("", text))


def anchor(heading):
    """The anchor that GitHub and GitLab give a heading."""
    text = LINK.sub(lambda link: link.group(1), heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def parse(source):
    """The parts of a page. Tables, headings, comments and code are no paragraphs."""
    page = Page([], [], set(), [], [])
    mark, lines = "", []
    for number, line in enumerate(_without_comments(source), 1):
        lines.append((number, *line))
    at, item_indent = 0, None
    paragraph = []

    def end_paragraph():
        if paragraph:
            text = "\n".join(text for _, text in paragraph)
            page.links.extend((paragraph[0][0] + text.count("\n", 0, link.start()), link.group(2))
                              for link in LINK.finditer(CODE.sub(_blank, text)))
            page.links.extend((paragraph[0][0], inner.group(2)) for link in LINK.finditer(text)
                              for inner in LINK.finditer(link.group(1)))
            page.paragraphs.append(Paragraph(paragraph[0][0], plain(text)))
            paragraph.clear()

    while at < len(lines):
        number, line, comment = lines[at]
        if comment is not None:
            mark = comment
        if fence := FENCE.match(line):
            end_paragraph()
            end = at + 1
            while end < len(lines) and not lines[end][1].strip().startswith(fence.group(1)):
                end += 1
            text = "\n".join(text for _, text, _ in lines[at + 1:end])
            page.blocks.append(Block(number, fence.group(2), mark, text))
            mark, at = "", end + 1
            continue
        if not line.strip():
            end_paragraph()
            at += 1
            continue
        indent = len(line) - len(line.lstrip())
        if not paragraph and indent >= (item_indent or 0) + 4:
            end = at
            while end < len(lines) and (not lines[end][1].strip() or lines[end][1].startswith(" " * 4)):
                end += 1
            text = "\n".join(text for _, text, _ in lines[at:end])
            page.blocks.append(Block(number, "", mark, text, fenced=False))
            mark, at = "", end
            continue
        if item_indent is not None and not paragraph and indent == 0 and not ITEM.match(line):
            item_indent = None
        if heading := HEADING.match(line):
            end_paragraph()
            name, count = anchor(heading.group(2)), 0
            while name + (f"-{count}" if count else "") in page.anchors:
                count += 1
            page.anchors.add(name + (f"-{count}" if count else ""))
            page.others.append((number, plain(heading.group(2))))
        elif line.lstrip().startswith("|"):
            end_paragraph()
            page.links.extend((number, link.group(2)) for link in LINK.finditer(CODE.sub(_blank, line)))
            page.others.append((number, plain(line)))
        else:
            if item := ITEM.match(line):
                end_paragraph()
                item_indent = item.end()
                line = line[item.end():]
            paragraph.append((number, line.strip().removeprefix("> ")))
            mark = ""
        at += 1
    end_paragraph()
    for name in re.findall(r"<a (?:id|name)=\"([^\"]+)\"", source):
        page.anchors.add(name)
    page.links.extend((source.count("\n", 0, image.start()) + 1, image.group(1))
                      for image in re.finditer(r"<img[^>]*\ssrc=\"([^\"]+)\"", source))
    return page


def _blank(code):
    return re.sub(r"[^\n]", " ", code.group(0))


def _without_comments(source):
    """Each line without its comments, and the text of a comment that ends on it (else None)."""
    comments = {}
    fences, inside = set(), None
    for number, line in enumerate(source.split("\n")):
        if fence := FENCE.match(line):
            inside = fence.group(1) if inside is None else None if inside == fence.group(1) else inside
        elif inside:
            fences.add(number)

    def remove(comment):
        if source.count("\n", 0, comment.start()) in fences:
            return comment.group(0)
        last = source.count("\n", 0, comment.end())
        comments[last] = comment.group(0)[4:-3].strip()
        return "\n" * comment.group(0).count("\n")

    text = COMMENT.sub(remove, source)
    return [(line, comments.get(number)) for number, line in enumerate(text.split("\n"))]
