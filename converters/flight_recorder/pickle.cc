#include "converters/flight_recorder/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "converters/flight_recorder/pickle_opcodes.h"
#include "core/input_file.h"
#include "core/text.h"
#include "core/utf8.h"

namespace reprise::flight_recorder {
namespace {

using Kind = DumpValue::Kind;

class PickleReader {
 public:
  PickleReader(const TextFile& file, DumpValues& values)
      : file_(file), text_(file.text()), values_(values) {}

  Result<ValueId> Read() {
    if (!BeginsAsPickle(text_)) {
      return Refuse("expected a pickle of protocol 2 to 5 (0x80, then the number)");
    }
    at_ = 2;
    while (!stopped_) {
      begin_ = at_;
      if (at_ >= text_.size()) {
        return Refuse("the pickle ends before its STOP: the file was cut; copy or dump it again");
      }
      REPRISE_TRY(Step(static_cast<unsigned char>(text_[at_++])));
      if (values_.size() > CurrentInputLimits().values) {
        return OverLimit(file_.path(),
                         fmt::format("{} values up to byte {}", values_.size(), begin_), "values");
      }
    }
    return stack_.back();
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Refuse(std::string_view what) const {
    return BadInput(fmt::format("{}: byte {}: {}", file_.path(), file_.OffsetOf(begin_), what));
  }
  [[nodiscard]] tl::unexpected<Error> Short() const {
    return Refuse("what the opcode announces is more than the file has: it was cut or damaged");
  }

  // Little-endian, of `bytes` bytes.
  Result<std::uint64_t> Unsigned(std::size_t bytes) {
    if (text_.size() - at_ < bytes) {
      return Short();
    }
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      out |= std::uint64_t{static_cast<unsigned char>(text_[at_ + i])} << (8 * i);
    }
    at_ += bytes;
    return out;
  }
  // That many bytes, whose number the next `size` bytes are.
  Result<std::string_view> Counted(std::size_t size) {
    REPRISE_ASSIGN(const std::uint64_t length, Unsigned(size));
    if (length > text_.size() - at_) {
      return Short();
    }
    if (length > CurrentInputLimits().string_bytes) {
      return OverLimit(file_.path(), fmt::format("a text of {} bytes at byte {}", length, begin_),
                       "string_bytes");
    }
    const std::string_view out = text_.substr(at_, length);
    at_ += length;
    return out;
  }
  Result<std::string_view> Line() {
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) {
      return Short();
    }
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }

  void Push(DumpValue value) { stack_.push_back(values_.Add(value)); }
  Status PushText(Result<std::string_view> text) {
    REPRISE_ASSIGN(const std::string_view found, std::move(text));
    if (!IsValidUtf8(found)) {
      return Refuse("a text that is not UTF-8: the file is damaged");
    }
    Push({.kind = Kind::kText, .text = found});
    return {};
  }
  Status PushInteger(std::int64_t value) {
    Push({.kind = Kind::kInteger, .integer = value});
    return {};
  }
  // Of LONG1 and LONG4: two's complement of any length.
  Status PushLong(Result<std::string_view> bytes) {
    REPRISE_ASSIGN(const std::string_view found, std::move(bytes));
    if (found.size() > sizeof(std::int64_t)) {
      return Refuse("a number of more than 64 bits");
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(found[i])} << (8 * i);
    }
    if (!found.empty() && found.size() < sizeof(value) && (found.back() & '\x80') != 0) {
      value |= ~std::uint64_t{0} << (8 * found.size());
    }
    return PushInteger(static_cast<std::int64_t>(value));
  }
  Status PushFloat() {
    REPRISE_ASSIGN(const std::uint64_t bytes, Unsigned(sizeof(double)));
    std::uint64_t swapped = 0;  // the one number that a pickle has with its high byte first
    for (int i = 0; i < 8; ++i) {
      swapped |= (bytes >> (8 * i) & 0xff) << (8 * (7 - i));
    }
    Push({.kind = Kind::kNumber, .number = std::bit_cast<double>(swapped)});
    return {};
  }

  // Where the stack must have at least `count` values above the last mark.
  [[nodiscard]] bool Has(std::size_t count) const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back()) >= count;
  }
  // The values above the last mark, in order, are left on the stack from `from` on.
  Result<std::size_t> TakeMark() {
    if (marks_.empty()) {
      return Refuse("an opcode that needs a MARK, and there is none");
    }
    const std::size_t from = marks_.back();
    marks_.pop_back();
    return from;
  }
  // Becomes one value of what is on the stack from `from` on.
  Status Collect(Kind kind, std::size_t from) {
    const ValueId made = kind == Kind::kDict ? values_.AddDict() : values_.AddList();
    if (kind == Kind::kDict && (stack_.size() - from) % 2 != 0) {
      return Refuse("a dict with a key that has no value");
    }
    for (std::size_t i = from; i < stack_.size(); ++i) {
      values_.Append(made, stack_[i]);
    }
    stack_.resize(from);
    stack_.push_back(made);
    return {};
  }
  // Adds what is on the stack from `from` on to the container below it.
  Status Extend(Kind kind, std::size_t from) {
    if (from == 0 || (!marks_.empty() && from <= marks_.back())) {
      return Refuse("an opcode that adds to a list or dict, and there is none");
    }
    const ValueId container = stack_[from - 1];
    if (values_.At(container).kind != kind) {
      return Refuse(kind == Kind::kDict ? "an opcode that sets items of what is no dict"
                                        : "an opcode that appends to what is no list");
    }
    if (kind == Kind::kDict && (stack_.size() - from) % 2 != 0) {
      return Refuse("a dict with a key that has no value");
    }
    for (std::size_t i = from; i < stack_.size(); ++i) {
      values_.Append(container, stack_[i]);
    }
    stack_.resize(from);
    return {};
  }

  Status Remember(Result<std::uint64_t> index) {
    REPRISE_ASSIGN(const std::uint64_t at, std::move(index));
    if (!Has(1)) {
      return Refuse("an opcode that needs a value, and the stack is empty");
    }
    memo_[at] = stack_.back();
    return {};
  }
  Status Recall(Result<std::uint64_t> index) {
    REPRISE_ASSIGN(const std::uint64_t at, std::move(index));
    const auto found = memo_.find(at);
    if (found == memo_.end()) {
      return Refuse(fmt::format("refers to value {}, which was not stored before", at));
    }
    stack_.push_back(found->second);
    return {};
  }
  // GET, PUT, INT and FLOAT have their numbers as lines of text.
  template <typename T>
  Result<T> LineNumber() {
    REPRISE_ASSIGN(std::string_view line, Line());
    if (line.ends_with('L')) {
      line.remove_suffix(1);
    }
    const std::optional<T> number = ParseNumber<T>(line);
    if (!number) {
      return Refuse("a line that is no number");
    }
    return *number;
  }

  Status Step(unsigned char code) {
    switch (code) {
      case '.':
        stopped_ = true;
        return Has(1) && marks_.empty() ? Status() : Refuse("STOP without a value");
      case 0x80: {  // PROTO: a pickle in a pickle has none
        return Refuse("a second PROTO");
      }
      case 0x95:  // FRAME: how many bytes follow is of no use here
        REPRISE_TRY(Unsigned(8));
        return {};
      case '(':
        marks_.push_back(stack_.size());
        return {};
      case '0':
        return Pop();
      case '1': {
        REPRISE_ASSIGN(const std::size_t from, TakeMark());
        stack_.resize(from);
        return {};
      }
      case '2':
        if (!Has(1)) {
          return Refuse("DUP of nothing");
        }
        stack_.push_back(stack_.back());
        return {};
      default:
        return IsValue(code) ? AddValue(code) : AddContainer(code);
    }
  }
  Status Pop() {
    if (!marks_.empty() && marks_.back() == stack_.size()) {
      marks_.pop_back();
      return {};
    }
    if (!Has(1)) {
      return Refuse("POP of nothing");
    }
    stack_.pop_back();
    return {};
  }

  static bool IsValue(unsigned char code) {
    constexpr std::string_view kCodes = "NIJKMLFGSVXTUBC\x88\x89\x8a\x8b\x8c\x8d\x8e\x96";
    return kCodes.find(static_cast<char>(code)) != std::string_view::npos;
  }

  Status AddValue(unsigned char code) {
    switch (code) {
      case 'N':
        Push({});
        return {};
      case 0x88:
      case 0x89:
        Push({.kind = Kind::kBool, .integer = code == 0x88 ? 1 : 0});
        return {};
      case 'K': {
        REPRISE_ASSIGN(const std::uint64_t value, Unsigned(1));
        return PushInteger(static_cast<std::int64_t>(value));
      }
      case 'M': {
        REPRISE_ASSIGN(const std::uint64_t value, Unsigned(2));
        return PushInteger(static_cast<std::int64_t>(value));
      }
      case 'J': {
        REPRISE_ASSIGN(const std::uint64_t value, Unsigned(4));
        return PushInteger(static_cast<std::int32_t>(static_cast<std::uint32_t>(value)));
      }
      case 'I':
      case 'L': {
        REPRISE_ASSIGN(const std::int64_t value, LineNumber<std::int64_t>());
        return PushInteger(value);
      }
      case 'F': {
        REPRISE_ASSIGN(const double value, LineNumber<double>());
        Push({.kind = Kind::kNumber, .number = value});
        return {};
      }
      case 0x8a:
        return PushLong(Counted(1));
      case 0x8b:
        return PushLong(Counted(4));
      case 'G':
        return PushFloat();
      case 'S':
      case 'V':
        return PushText(Line());
      case 0x8c:  // SHORT_BINUNICODE
      case 'U':   // SHORT_BINSTRING
      case 'C':   // SHORT_BINBYTES
        return PushText(Counted(1));
      case 'X':  // BINUNICODE
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
        return PushText(Counted(4));
      default:  // BINUNICODE8, BINBYTES8, BYTEARRAY8
        return PushText(Counted(8));
    }
  }

  Status AddContainer(unsigned char code) {
    switch (code) {
      case ']':
      case ')':
      case 0x8f:  // EMPTY_SET
        stack_.push_back(values_.AddList());
        return {};
      case '}':
        stack_.push_back(values_.AddDict());
        return {};
      case 'l':
      case 't':
      case 0x91: {  // FROZENSET
        REPRISE_ASSIGN(const std::size_t from, TakeMark());
        return Collect(Kind::kList, from);
      }
      case 'd': {
        REPRISE_ASSIGN(const std::size_t from, TakeMark());
        return Collect(Kind::kDict, from);
      }
      case 0x85:
      case 0x86:
      case 0x87: {  // TUPLE1 to TUPLE3
        const std::size_t count = code - 0x84;
        return Has(count) ? Collect(Kind::kList, stack_.size() - count)
                          : Refuse("a tuple of more values than there are");
      }
      case 'a':
        return Has(2) ? Extend(Kind::kList, stack_.size() - 1) : Refuse("APPEND of nothing");
      case 's':
        return Has(3) ? Extend(Kind::kDict, stack_.size() - 2) : Refuse("SETITEM of nothing");
      case 'e':
      case 0x90: {  // ADDITEMS
        REPRISE_ASSIGN(const std::size_t from, TakeMark());
        return Extend(Kind::kList, from);
      }
      case 'u': {
        REPRISE_ASSIGN(const std::size_t from, TakeMark());
        return Extend(Kind::kDict, from);
      }
      default:
        return UseMemo(code);
    }
  }

  Status UseMemo(unsigned char code) {
    switch (code) {
      case 'q':
        return Remember(Unsigned(1));
      case 'r':
        return Remember(Unsigned(4));
      case 'p':
        return Remember(LineNumber<std::uint64_t>());
      case 0x94:
        return Remember(std::uint64_t{memo_.size()});
      case 'h':
        return Recall(Unsigned(1));
      case 'j':
        return Recall(Unsigned(4));
      case 'g':
        return Recall(LineNumber<std::uint64_t>());
      default:
        break;
    }
    const std::string_view name = RefusedOpcode(code);
    return name.empty()
               ? Refuse(fmt::format("0x{:02x} is no opcode of a pickle: the file is damaged", code))
               : Refuse(
                     fmt::format("the opcode {} makes objects or calls functions; a dump of the "
                                 "flight recorder has plain data alone, and nothing else is read",
                                 name));
  }

  const TextFile& file_;
  std::string_view text_;
  DumpValues& values_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of the opcode
  bool stopped_ = false;
  std::vector<ValueId> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::unordered_map<std::uint64_t, ValueId> memo_;
};

}  // namespace

bool BeginsAsPickle(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

Result<ValueId> ReadPickle(const TextFile& file, DumpValues& values) {
  return PickleReader(file, values).Read();
}

}  // namespace reprise::flight_recorder
