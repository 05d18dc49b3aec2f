#include "converters/json_walk.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>

namespace reprise {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

tl::unexpected<Error> JsonWalk::Expected(std::string_view what) const {
  return BadInput(
      fmt::format("{}: not JSON: expected {} at byte {}", source_.path(), what, at_byte()));
}

tl::unexpected<Error> JsonWalk::EndsEarly() const {
  return BadInput(fmt::format(
      "{}: truncated: the JSON text ends early at byte {}; copy or capture the file again",
      source_.path(), at_byte_ + end_));
}

Result<bool> JsonWalk::ReadMore() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    at_byte_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t size = end_ + kReadBytes + simdjson::SIMDJSON_PADDING;
  if (buffer_.size() < size) {
    buffer_.resize(std::max(size, buffer_.size() * 2));
  }
  REPRISE_ASSIGN(const std::size_t got, source_.Read(buffer_.data() + end_, kReadBytes));
  end_ += got;
  return got > 0;
}

Result<char> JsonWalk::NextByte() {
  for (;;) {
    while (begin_ < end_ && IsBlank(buffer_[begin_])) {
      ++begin_;
    }
    if (begin_ < end_) {
      return buffer_[begin_];
    }
    REPRISE_ASSIGN(const bool more, ReadMore());
    if (!more) {
      return '\0';
    }
  }
}

Result<char> JsonWalk::Peek() {
  REPRISE_ASSIGN(const char c, NextByte());
  if (c == '\0' && begin_ == end_) {
    return EndsEarly();
  }
  if (std::string_view("{[\"-0123456789tfnNI").find(c) == std::string_view::npos) {
    return Expected("a value of JSON");
  }
  return c;
}

Status JsonWalk::Enter() {
  REPRISE_ASSIGN(const char c, Peek());
  if (c != '{' && c != '[') {
    return Expected("an object or a list");
  }
  ++begin_;
  fresh_ = true;
  return {};
}

Result<bool> JsonWalk::NextItem(char close) {
  REPRISE_ASSIGN(char c, NextByte());
  if (c == close) {
    ++begin_;
    fresh_ = false;
    return false;
  }
  if (!fresh_) {
    if (c != ',') {
      return c == '\0' && begin_ == end_ ? EndsEarly()
                                         : Expected(close == ']' ? "',' or ']'" : "',' or '}'");
    }
    ++begin_;
  }
  fresh_ = false;
  return true;
}

Result<bool> JsonWalk::NextElement() {
  REPRISE_ASSIGN(const bool more, NextItem(']'));
  if (more) {
    REPRISE_TRY(Peek());
  }
  return more;
}

Result<bool> JsonWalk::NextMember(std::string& name) {
  REPRISE_ASSIGN(const bool more, NextItem('}'));
  if (!more) {
    return false;
  }
  REPRISE_ASSIGN(char c, NextByte());
  if (c != '"') {
    return c == '\0' && begin_ == end_ ? EndsEarly() : Expected("a member's name");
  }
  REPRISE_ASSIGN(const std::string_view text, Take());
  name = text.substr(1, text.size() - 2);
  REPRISE_ASSIGN(c, NextByte());
  if (c != ':') {
    return c == '\0' && begin_ == end_ ? EndsEarly() : Expected("':'");
  }
  ++begin_;
  REPRISE_TRY(Peek());
  return true;
}

Result<std::size_t> JsonWalk::FindEnd(bool keep) {
  std::size_t at = begin_;
  std::size_t depth = 0;
  bool in_string = false;
  const char first = buffer_[begin_];
  const bool scalar = first != '{' && first != '[' && first != '"';
  for (;;) {
    while (at < end_) {
      if (in_string) {
        at = static_cast<std::size_t>(std::find_if(buffer_.data() + at, buffer_.data() + end_,
                                                   [](char c) { return c == '"' || c == '\\'; }) -
                                      buffer_.data());
        if (at >= end_) {
          break;
        }
        if (buffer_[at] == '\\') {
          if (at + 1 >= end_) {
            break;  // what it escapes is not there yet
          }
          at += 2;
          continue;
        }
        in_string = false;
        ++at;
      } else {
        const char c = buffer_[at];
        if (scalar && (c == ',' || c == ']' || c == '}' || IsBlank(c))) {
          return at;
        }
        ++at;
        in_string = c == '"';
        if (c == '{' || c == '[') {
          ++depth;
        } else if (c == '}' || c == ']') {
          --depth;
        }
        if (in_string || scalar || depth > 0) {
          continue;
        }
      }
      if (depth == 0) {
        return at;
      }
    }
    if (keep && at - begin_ > kMostBytes) {
      return BadInput(fmt::format("{}: one value of more than {} MiB, from byte {}: no capture",
                                  source_.path(), kMostBytes >> 20U, at_byte()));
    }
    if (!keep) {
      begin_ = at;
    }
    const std::size_t passed = at - begin_;
    REPRISE_ASSIGN(const bool more, ReadMore());
    at = begin_ + passed;
    if (!more) {
      return scalar ? Result<std::size_t>(at) : EndsEarly();
    }
  }
}

Status JsonWalk::Skip() {
  REPRISE_TRY(Peek());
  REPRISE_ASSIGN(begin_, FindEnd(false));
  return {};
}

Result<std::string_view> JsonWalk::Take() {
  REPRISE_TRY(Peek());
  REPRISE_ASSIGN(const std::size_t end, FindEnd(true));
  const std::string_view text(buffer_.data() + begin_, end - begin_);
  begin_ = end;
  return text;
}

Status JsonWalk::End() {
  REPRISE_ASSIGN(const char c, NextByte());
  return c == '\0' && begin_ == end_ ? Status() : Expected("the end of the file");
}

}  // namespace reprise
