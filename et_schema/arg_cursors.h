// Walking through the three texts of an IOInfo. Only et_schema sees this.
#pragma once

#include <string_view>

namespace reprise {

// Reads literals at the front of a text.
struct TextCursor {
  const char* at = nullptr;
  const char* end = nullptr;

  explicit TextCursor(std::string_view text) : at(text.data()), end(at + text.size()) {}
  // The next character that is not a space, '\0' at the end.
  char Peek() {
    while (at != end) {
      const char c = *at;
      if (c != ' ' && c != '\n' && c != '\t') {
        return c;
      }
      ++at;
    }
    return '\0';
  }
  bool Eat(char c) {
    if (Peek() != c) {
      return false;
    }
    ++at;
    return true;
  }
  // Over one bracketed list, however nested; false if it does not end.
  bool SkipBrackets() {
    int depth = 0;
    for (; at != end; ++at) {
      depth += *at == '[' ? 1 : *at == ']' ? -1 : 0;
      if (depth == 0) {
        ++at;
        return true;
      }
    }
    return false;
  }
  bool EatWord(std::string_view word) {
    if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(word)) {
      return false;
    }
    at += word.size();
    return true;
  }
};

// The entries of `types`: quoted at the top ('Tensor(float)', 'Int'), bare inside GenericList[…].
class TypeCursor {
 public:
  TypeCursor(std::string_view text, bool quoted) : text_(text), quoted_(quoted) {}

  // Empty when there are no more.
  std::string_view Next() { return quoted_ ? NextQuoted() : NextBare(); }

 private:
  std::string_view NextQuoted() {
    const char* at = text_.data();
    const char* const end = at + text_.size();
    while (at != end && *at != '\'' && *at != '"') {
      ++at;
    }
    if (at == end) {
      text_ = {};
      return {};
    }
    const char quote = *at++;
    const char* const open = at;
    while (at != end && *at != quote) {
      ++at;
    }
    const std::string_view token(open, static_cast<std::size_t>(at - open));
    at += at != end ? 1 : 0;
    text_ = {at, static_cast<std::size_t>(end - at)};
    return token;
  }

  std::string_view NextBare() {
    int depth = 0;
    std::size_t i = 0;
    for (; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '[' || c == '(' || c == '<') {
        ++depth;
      } else if (c == ']' || c == ')' || c == '>') {
        --depth;
      } else if (c == ',' && depth == 0) {
        break;
      }
    }
    const std::string_view token = text_.substr(0, i);
    text_.remove_prefix(i < text_.size() ? i + 1 : i);
    return token;
  }

  std::string_view text_;
  bool quoted_;
};

// "GenericList[Int,Int]" → "Int,Int".
inline std::string_view InnerTypes(std::string_view type) {
  const std::size_t open = type.find('[');
  if (open == std::string_view::npos) {
    return {};
  }
  const bool closed = type.ends_with(']');
  return type.substr(open + 1, type.size() - open - (closed ? 2 : 1));
}

}  // namespace reprise
