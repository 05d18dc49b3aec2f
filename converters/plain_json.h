// JSON as PyTorch's observer writes it, read in one pass where it stands, a third of the time that
// a document tree of all of it takes. Not a parser for any JSON: it gives up on what the observer
// does not write (objects as values, \u, numbers beyond 64 bits or none at all, damage), and
// simdjson reads or refuses the same text. What it does not give up on, it takes as simdjson does.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// One value of a tape. An array is followed by its elements.
struct PlainEntry {
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kInteger, kDouble, kString, kArray };
  Kind kind = Kind::kNull;
  std::uint32_t size = 0;  // an array's elements, a string's bytes
  union {
    std::int64_t integer;
    double number;
    const char* text;
    std::size_t entries;  // an array's, with itself
  };
  constexpr PlainEntry() : integer(0) {}
};

class PlainArray;

// A value, with the part of simdjson::dom::element's interface that both are read through.
class PlainElement {
 public:
  PlainElement() : PlainElement(&kNull) {}
  explicit PlainElement(const PlainEntry* at) : at_(at) {}

  [[nodiscard]] simdjson::dom::element_type type() const;
  [[nodiscard]] bool is_int64() const { return at_->kind == PlainEntry::Kind::kInteger; }
  [[nodiscard]] bool is_uint64() const { return false; }  // beyond int64, that is
  [[nodiscard]] bool is_string() const { return at_->kind == PlainEntry::Kind::kString; }
  simdjson::error_code get(std::int64_t& out) const {
    out = is_int64() ? at_->integer : out;
    return If(is_int64());
  }
  simdjson::error_code get(std::string_view& out) const {
    out = is_string() ? std::string_view(at_->text, at_->size) : out;
    return If(is_string());
  }
  simdjson::error_code get(double& out) const {
    const bool is = at_->kind == PlainEntry::Kind::kDouble;
    out = is ? at_->number : out;
    return If(is);
  }
  simdjson::error_code get(bool& out) const {
    const bool is = at_->kind == PlainEntry::Kind::kTrue || at_->kind == PlainEntry::Kind::kFalse;
    out = is ? at_->kind == PlainEntry::Kind::kTrue : out;
    return If(is);
  }
  simdjson::error_code get(PlainArray& out) const;

 private:
  static simdjson::error_code If(bool is) {
    return is ? simdjson::SUCCESS : simdjson::INCORRECT_TYPE;
  }
  static const PlainEntry kNull;
  const PlainEntry* at_;
};

class PlainArray {
 public:
  class iterator {  // NOLINT(readability-identifier-naming): the standard library's name
   public:
    iterator() = default;
    explicit iterator(const PlainEntry* at) : at_(at) {}
    PlainElement operator*() const { return PlainElement(at_); }
    iterator& operator++() {
      at_ += at_->kind == PlainEntry::Kind::kArray ? at_->entries : 1;
      return *this;
    }
    bool operator==(const iterator&) const = default;

   private:
    const PlainEntry* at_ = nullptr;
  };

  PlainArray() = default;
  explicit PlainArray(const PlainEntry* at) : at_(at) {}
  [[nodiscard]] std::size_t size() const { return at_->size; }
  [[nodiscard]] iterator begin() const { return iterator(at_ + 1); }
  [[nodiscard]] iterator end() const { return iterator(at_ + at_->entries); }

 private:
  const PlainEntry* at_ = nullptr;
};

inline simdjson::error_code PlainElement::get(PlainArray& out) const {
  const bool is = at_->kind == PlainEntry::Kind::kArray;
  out = is ? PlainArray(at_) : out;
  return If(is);
}

// A walk over a text. What returns false has given up, for good. Strings point into the text or,
// where they had escapes, into the walk: they live until Begin is called again. Not thread-safe.
class PlainJson {
 public:
  using Tape = std::vector<PlainEntry>;
  // What objects of a kind have in common: the text from the end of a value to the beginning of the
  // next, by its place in the object. Where it is the same again, it need not be read again.
  struct Heading {
    std::string text;
    int id = 0;
  };
  using Headings = std::vector<Heading>;

  // UTF-8, ends with a bracket, and TextFile::kPadding more bytes may be read behind it.
  bool Begin(std::string_view text);
  [[nodiscard]] bool AtEnd() const { return at_ == end_; }

  // Behind white space; 0: the text ended.
  char Peek() {
    while (at_ < end_ && static_cast<unsigned char>(*at_) <= ' ') {
      if (*at_ != ' ' && *at_ != '\n' && *at_ != '\r' && *at_ != '\t') {
        return '\0';
      }
      ++at_;
    }
    return at_ < end_ ? *at_ : '\0';
  }
  bool Take(char c) {
    const bool is = Peek() == c;
    at_ += is ? 1 : 0;
    return is;
  }
  bool String(std::string_view& out) { return Take('"') && RestOfString(out); }
  // `element` reads one, and says whether to go on.
  template <typename Element>
  bool Array(const Element& element) {
    if (!Take('[')) {
      return false;
    }
    if (Take(']')) {
      return true;
    }
    do {
      if (!element()) {
        return false;
      }
    } while (Take(','));
    return Take(']');
  }
  // `id_of` returns a number for a key, `member` reads the value of the key with that number; both
  // say whether to go on (the first by -1).
  template <typename IdOf, typename Member>
  bool Object(Headings& headings, const IdOf& id_of, const Member& member) {
    return Members(headings, 0, id_of, member);
  }
  // Those from the i-th on; behind the value of the one before, if there is one.
  template <typename IdOf, typename Member>
  bool Members(Headings& headings, std::size_t i, const IdOf& id_of, const Member& member) {
    for (;; ++i) {
      int id = 0;
      if (!Skip(headings, i, id)) {
        const char* const begin = at_;
        if (i > 0 && Take('}')) {
          return true;
        }
        if (!Take(i == 0 ? '{' : ',')) {
          return false;
        }
        if (i == 0 && Take('}')) {
          return true;
        }
        std::string_view key;
        if (!String(key) || !Take(':') || (id = id_of(key)) < 0) {
          return false;
        }
        Peek();
        Remember(headings, i, begin, at_, id);
      }
      if (!member(id)) {
        return false;
      }
    }
  }
  // Any value but an object, behind what is on the tape.
  bool Value(Tape& tape) { return Value(tape, 0); }
  bool Integer(std::int64_t& out) {
    PlainEntry entry;
    Peek();
    const bool is = Number(entry) && entry.kind == PlainEntry::Kind::kInteger;
    out = is ? entry.integer : out;
    return is;
  }

  [[nodiscard]] const char* at() const { return at_; }
  // What is next, up to and with the first `c`, strings or not; empty: none within `most` bytes.
  [[nodiscard]] std::string_view UpTo(char c, std::size_t most) const {
    const std::string_view next(at_, std::min(most, static_cast<std::size_t>(end_ - at_)));
    return next.substr(0, next.find(c) + 1);
  }
  // Passes over bytes that have been read before, from the same state.
  void Pass(std::size_t bytes) { at_ += bytes; }
  // True: the text continues with the i-th heading, which is now read.
  bool Skip(const Headings& headings, std::size_t i, int& id) {
    if (i >= headings.size()) {
      return false;
    }
    const std::string& text = headings[i].text;
    if (text.size() > static_cast<std::size_t>(end_ - at_) ||
        std::memcmp(at_, text.data(), text.size()) != 0) {
      return false;
    }
    at_ += text.size();
    id = headings[i].id;
    return true;
  }
  static void Remember(Headings& headings, std::size_t i, const char* begin, const char* end,
                       int id);

 private:
  bool Value(Tape& tape, int depth);
  bool ArrayOf(Tape& tape, int depth);
  bool Literal(std::string_view word, PlainEntry::Kind kind, Tape& tape);
  bool Number(PlainEntry& out);
  bool Double(const char* begin, PlainEntry& out);
  bool RestOfString(std::string_view& out);
  bool Unescape(const char* begin, const char* slash, std::string_view& out);

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::string unescaped_;  // of all strings that had escapes: never longer than the text
};

}  // namespace reprise
