"""A reader of columns made from docs/package_format.md alone: what that page says is enough."""
import re

import program
import wire

MASK = (1 << 64) - 1


def known_texts():
    text = (program.ROOT / "et_schema" / "columns" / "known_texts.h").read_text(encoding="utf-8")
    return [t.encode() for t in re.findall(r'"([^"]*)"', text[text.index("kKnownTexts"):])]


def mix(a, b):
    x = ((a ^ (b << 29 & MASK | b >> 35)) * 0x9e3779b97f4a7c15) & MASK
    return ((x ^ x >> 32) * 0xd6e8feb86659fd93) & MASK


def signed(number):
    return number - (1 << 64) if number >> 63 else number


class Bits:
    def __init__(self, codes):
        self.codes, self.at = codes, 4
        self.low, self.high, self.code = 0, 0xffffffff, int.from_bytes(codes[:4], "big")

    def split(self, one):
        middle = self.low + ((self.high - self.low) * one >> 16)
        bit = self.code <= middle
        if bit:
            self.high = middle
        else:
            self.low = middle + 1
        while self.low >> 24 == self.high >> 24:
            self.low = self.low << 8 & 0xffffffff
            self.high = self.high << 8 & 0xffffffff | 0xff
            self.code = self.code << 8 & 0xffffffff | self.codes[self.at]
            self.at += 1
        return int(bit)

    def read(self, models, key):
        one, seen = models.get(key, (1 << 15, 0))
        bit = self.split(one)
        step = ((65488 if bit else 48) - one) * 2
        one += step // (2 * seen + 3) if step >= 0 else -(-step // (2 * seen + 3))
        models[key] = one, min(seen + 1, 80)
        return bit


class Model:
    def __init__(self, bits, size):
        self.bits = bits
        self.shift = 64 - min(max(size.bit_length(), 4), 16)
        self.followers, self.latest, self.models = {}, {}, {}
        self.last = self.before = 0

    def read(self, context=0):
        follower = mix(mix(context, self.last), self.before) >> self.shift
        latest = mix(context, 1) >> self.shift
        follow, follow_right = self.followers.get(follower, (0, 0))
        hint, hint_right = self.latest.get(latest, (0, 0))
        if self.bits.read(self.models, ("follower", follow_right)):
            value = follow
        elif hint != follow and self.bits.read(self.models, ("latest", hint_right)):
            value = hint
        else:
            value = self.new(hint)
        self.followers[follower] = value, min(follow_right + 1, 15) if value == follow else 0
        self.latest[latest] = value, min(hint_right + 1, 15) if value == hint else 0
        self.before, self.last = self.last, value
        return value

    def new(self, hint):
        length = 1
        for _ in range(7):
            length = 2 * length + self.bits.read(self.models, ("l", hint.bit_length(), length))
        length -= 128
        value, agrees = min(length, 1), length == hint.bit_length()
        for place in reversed(range(length - 1)):
            if length - 1 - place > 7:
                bit = self.bits.split(1 << 15)
            else:
                expected = hint >> place & 1
                bit = self.bits.read(self.models,
                                     ("b", length, value, 1 + expected if agrees else 0))
                agrees = agrees and bit == expected
            value = 2 * value + bit
        return value


class News:
    def __init__(self, following=0):
        self.following = following

    def index(self, code):
        if code:
            return code - 1
        self.following += 1
        return self.following - 1


class Block:
    def __init__(self, messages, texts, codes):
        self.bits = Bits(codes)
        self.uses = [Model(self.bits, 1024) for _ in range(11)]
        known = known_texts()
        self.new_text, new_part, new_field = News(len(known)), News(), News()
        self.fields = []
        for _ in range(self.use(0)):
            kind = self.use(1)
            tag = 0 if kind == 7 else self.use(2, kind)
            news = {5: new_part, 6: self.new_text}.get(kind)
            self.fields.append((kind, tag, news.index(self.use(3, kind)) if news else 0))
        self.parts = self.shape_table(new_field)
        self.shapes = self.shape_table(new_field)
        self.texts = known
        for length in [None] * self.use(0):
            length = self.use(6)
            self.texts.append(texts[:length])
            texts = texts[length:]
        assert not texts
        self.time = [self.use(8, 6) - 1 for _ in range(6)]
        self.plans = []
        for _ in range(1 + 2 * len(self.fields)):
            plan = [self.use(7)] + [self.use(8, context) for context in range(1, 6)]
            self.plans.append(plan[:4] + [plan[4] - 1, plan[5] - 1])
        # Of each column the numbers and, for each message, the indices of its own.
        self.values = [[] for _ in self.plans]
        self.owners = [[] for _ in self.plans]
        self.begins = [{} for _ in self.plans]
        self.owners[0] = list(range(messages))
        self.read_columns()
        assert self.bits.at == len(codes)

    def use(self, use, context=0):
        return self.uses[use].read(context)

    def shape_table(self, new_field):
        table = []
        for _ in range(self.use(0)):
            shape, before = [], 0
            for _ in range(self.use(4)):
                shape.append(new_field.index(self.use(5, before)))
                before = shape[-1] + 1
            table.append(shape)
        return table

    def place(self, shape, message):
        for field in shape:
            kind, _, argument = self.fields[field]
            if kind == 5:
                self.place(self.parts[argument], message)
            elif kind != 6:
                self.owners[1 + 2 * field].append(message)

    def beside(self, column, message, k):
        begin, end = self.begins[column].get(message, (0, 0)) if column >= 0 else (0, 0)
        return self.values[column][min(begin + k, end - 1)] if end > begin else None

    def read_columns(self):
        new_shape = News()
        for column in sorted(range(len(self.plans)), key=lambda c: (self.plans[c][1], c)):
            if column and column % 2 == 0 and self.fields[column // 2 - 1][0] == 4:
                self.owners[column] = [m for m, count in
                                       zip(self.owners[column - 1], self.values[column - 1])
                                       for _ in range(count)]
            self.read_column(column, self.new_text if column else new_shape)
            if column == 0:
                for message, shape in enumerate(self.values[0]):
                    self.place(self.shapes[shape], message)

    def read_column(self, column, news):
        base, _, lag, unit, context_column, reference = self.plans[column]
        ids, deps, duration, delay, stream, thread = self.time
        owners, values, begins = self.owners[column], self.values[column], self.begins[column]
        model = Model(self.bits, len(owners)) if len(owners) >= 32 else None
        table, caught_up = {}, 0
        keys = len(owners) if base == 3 else len(self.owners[0])
        shift = 64 - min(max(keys.bit_length() + 1, 4), 17)

        def found(key):
            slot = table.get(mix(key, 0) >> shift)
            return slot[1] if slot and slot[0] == key else None

        def keep(key, value):
            table[mix(key, 0) >> shift] = key, value

        def actor(message):
            own = self.beside(stream, message, 0)
            return mix(own, 1) if own is not None else mix(self.beside(thread, message, 0) or 0, 2)

        for i, message in enumerate(owners):
            begin = begins.get(message, (i, i))[0]
            begins[message] = begin, i + 1
            k = i - begin
            beside = self.beside(context_column, message, k)
            context = 0 if beside is None else beside + 1
            if lag > 1:
                context = mix(context, k % lag)
            expected = 0
            if base == 2:
                expected = values[i - lag] if i >= lag else 0
            elif base == 3:
                expected = found(context) or 0
            elif base in (4, 5):
                expected = self.beside(reference, message, k) or 0
                if base == 5:
                    expected = max(signed(expected), 0) // 1000
            elif base == 6:
                begin, end = self.begins[deps].get(message, (0, 0))
                ends = [signed(e) for e in map(found, self.values[deps][begin:end])
                        if e is not None]
                expected = (max(ends) + (self.beside(delay, message, 0) or 0) if ends
                            else values[i - 1] if i else 0)
            elif base == 7:
                for earlier in range(caught_up, message):
                    own = self.beside(ids, earlier, 0)
                    if own is not None:
                        keep(actor(earlier), own)
                caught_up = message
                expected = found(actor(message)) or 0
            code = (model.read(context) if model
                    else self.use(9 if base == 1 else 10, mix(context, column)))
            if base == 1:
                value = news.index(code)
            elif base == 0:
                value = code * unit
            else:
                value = expected + ((code >> 1) ^ -(code & 1)) * unit
            values.append(value & MASK)
            if base == 3:
                keep(context, values[-1])
            elif base == 6:
                keep(self.beside(ids, message, 0) or 0,
                     (values[-1] + (self.beside(duration, message, 0) or 0)) & MASK)

    def messages(self):
        streams = [iter(values) for values in self.values]

        def write(shape):
            out = b""
            for field in shape:
                kind, tag, argument = self.fields[field]
                number = next(streams[1 + 2 * field]) if kind not in (5, 6) else 0
                if kind == 7:
                    out += self.texts[number]
                    continue
                out += wire.varint(tag)
                if kind == 0:
                    out += wire.varint(number)
                elif kind in (1, 2):
                    out += number.to_bytes(8 // kind, "little")
                else:
                    content = (self.texts[number] if kind == 3 else
                               b"".join(wire.varint(next(streams[2 + 2 * field]))
                                        for _ in range(number)) if kind == 4 else
                               write(self.parts[argument]) if kind == 5 else self.texts[argument])
                    out += wire.varint(len(content)) + content
            return out

        for shape in self.values[0]:
            message = write(self.shapes[shape])
            yield wire.varint(len(message)) + message


def read(columns):
    """The bytes of the .et file that `columns` hold."""
    out, at = b"", 0
    while at < len(columns):
        header = []
        for _ in range(4):
            value, at = wire.read_varint(columns, at)
            header.append(value)
        size, messages, text_bytes, coded_bytes = header
        texts = columns[at:at + text_bytes]
        at += text_bytes + coded_bytes
        block = b"".join(Block(messages, texts, columns[at - coded_bytes:at]).messages())
        assert len(block) == size
        out += block
    return out
