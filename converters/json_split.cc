#include "converters/json_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/text.h"

namespace reprise {
namespace {

constexpr std::size_t kEnd = std::string_view::npos;

// Walks over JSON text by structure alone. Positions are kEnd once the text ended too early.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  std::size_t SkipSpace(std::size_t at) const {
    while (at < text_.size() && IsJsonSpace(text_[at])) {
      ++at;
    }
    return at < text_.size() ? at : kEnd;
  }

  // `at` is on the opening quote; returns the position after the closing one.
  std::size_t SkipString(std::size_t at) const {
    ++at;
    while (at < text_.size()) {
      const void* quote = std::memchr(text_.data() + at, '"', text_.size() - at);
      if (quote == nullptr) {
        return kEnd;
      }
      const auto found = static_cast<std::size_t>(static_cast<const char*>(quote) - text_.data());
      std::size_t slashes = 0;
      while (found - slashes > at && text_[found - slashes - 1] == '\\') {
        ++slashes;
      }
      if (slashes % 2 == 0) {
        return found + 1;
      }
      at = found + 1;
    }
    return kEnd;
  }

  std::size_t SkipValue(std::size_t at) const {
    int depth = 0;
    while (at < text_.size()) {
      switch (text_[at]) {
        case '"':
          at = SkipString(at);
          if (at == kEnd || depth == 0) {
            return at;
          }
          continue;
        case '{':
        case '[':
          ++depth;
          break;
        case '}':
        case ']':
          if (depth == 0) {
            return at;  // the end of a number or literal before it
          }
          if (--depth == 0) {
            return at + 1;
          }
          break;
        case ',':
          if (depth == 0) {
            return at;
          }
          break;
        default:
          break;
      }
      ++at;
    }
    return kEnd;
  }

 private:
  std::string_view text_;
};

tl::unexpected<Error> NotJson(const TextFile& file, std::size_t at, std::string_view expected) {
  if (at == kEnd || at >= file.text().size()) {
    return BadInput(fmt::format(
        "{}: truncated: the JSON text ends early at byte {}; copy or capture the file again",
        file.path(), file.OffsetOf(file.text().size())));
  }
  return BadInput(fmt::format("{}: not JSON: expected {} at byte {}", file.path(), expected,
                              file.OffsetOf(at)));
}

tl::unexpected<Error> MoreText(const TextFile& file, std::size_t at, std::string_view after) {
  return BadInput(
      fmt::format("{}: more text after the end of the JSON {}, at byte {}; were two files written "
                  "into one?",
                  file.path(), after, file.OffsetOf(at)));
}

Status SplitArray(const TextFile& file, const Walker& walker, std::size_t& at, SplitJson& out) {
  const std::string_view text = file.text();
  at = walker.SkipSpace(at + 1);
  while (at != kEnd && text[at] != ']') {
    const std::size_t end = walker.SkipValue(at);
    if (end == kEnd || end == at) {
      return NotJson(file, end, "a value");
    }
    out.elements.push_back(text.substr(at, end - at));
    at = walker.SkipSpace(end);
    if (at != kEnd && text[at] == ',') {
      at = walker.SkipSpace(at + 1);
    } else if (at != kEnd && text[at] != ']') {
      return NotJson(file, at, "',' or ']'");
    }
  }
  if (at == kEnd) {
    return NotJson(file, at, "']'");
  }
  ++at;
  return {};
}

// `1.5, NaN, -Infinity]` → `1.5, null, null]`, outside strings only.
std::string PatchNumbers(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 64);
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      const std::size_t end = Walker(text).SkipString(i);
      const std::size_t stop = end == kEnd ? text.size() : end;
      out.append(text.substr(i, stop - i));
      i = stop;
      continue;
    }
    bool matched = false;
    for (const std::string_view word :
         {"-Infinity", "Infinity", "-infinity", "infinity", "-inf", "inf", "-nan", "nan", "NaN"}) {
      if (text.substr(i).starts_with(word)) {
        out += "null";
        i += word.size();
        matched = true;
        break;
      }
    }
    if (!matched) {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace

std::string_view SplitJson::Member(std::string_view key) const {
  for (const auto& [name, raw] : members) {
    if (name == key) {
      return raw;
    }
  }
  return {};
}

Result<SplitJson> SplitObject(const TextFile& file, std::string_view array_key,
                              std::size_t* error_at) {
  std::size_t ignored = 0;
  std::size_t& stopped = error_at == nullptr ? ignored : *error_at;
  const auto not_json = [&](std::size_t at, std::string_view expected) {
    stopped = file.OffsetOf(std::min(at, file.text().size()));
    return NotJson(file, at, expected);
  };
  const std::string_view text = file.text();
  const Walker walker(text);
  SplitJson out;
  std::size_t at = walker.SkipSpace(0);
  if (at == kEnd || text[at] != '{') {
    return not_json(at, "'{'");
  }
  at = walker.SkipSpace(at + 1);
  while (at != kEnd && text[at] != '}') {
    if (text[at] != '"') {
      return not_json(at, "a member name");
    }
    const std::size_t key_end = walker.SkipString(at);
    if (key_end == kEnd) {
      return not_json(kEnd, "");
    }
    const std::string_view key = text.substr(at + 1, key_end - at - 2);
    at = walker.SkipSpace(key_end);
    if (at == kEnd || text[at] != ':') {
      return not_json(at, "':'");
    }
    at = walker.SkipSpace(at + 1);
    if (at == kEnd) {
      return not_json(at, "");
    }
    if (key == array_key && text[at] == '[') {
      out.has_array = true;
      stopped = file.OffsetOf(at + 1);
      REPRISE_TRY(SplitArray(file, walker, at, out));
    } else {
      const std::size_t end = walker.SkipValue(at);
      if (end == kEnd || end == at) {
        return not_json(end, "a value");
      }
      out.members.emplace_back(key, text.substr(at, end - at));
      at = end;
    }
    at = walker.SkipSpace(at);
    if (at != kEnd && text[at] == ',') {
      at = walker.SkipSpace(at + 1);
    } else if (at != kEnd && text[at] != '}') {
      return not_json(at, "',' or '}'");
    }
  }
  if (at == kEnd) {
    return not_json(at, "");
  }
  if (const std::size_t more = walker.SkipSpace(at + 1); more != kEnd) {
    stopped = file.OffsetOf(more);
    return MoreText(file, more, "object");
  }
  return out;
}

Result<SplitJson> SplitList(const TextFile& file, bool open, std::size_t* error_at) {
  const std::string_view text = file.text();
  const Walker walker(text);
  SplitJson out;
  out.has_array = true;
  const std::size_t begin = walker.SkipSpace(0);
  *error_at = file.OffsetOf(text.size());
  if (open) {
    return out;
  }
  const std::size_t end = begin == kEnd ? kEnd : walker.SkipSpace(begin + 1);
  if (end == kEnd || text[end] != ']') {
    return NotJson(file, end, "']'");
  }
  if (const std::size_t more = walker.SkipSpace(end + 1); more != kEnd) {
    *error_at = file.OffsetOf(more);
    return MoreText(file, more, "list");
  }
  return out;
}

std::string_view MemberText(std::string_view object, std::string_view key) {
  const Walker walker(object);
  std::size_t at = walker.SkipSpace(0);
  if (at == kEnd || object[at] != '{') {
    return {};
  }
  at = walker.SkipSpace(at + 1);
  while (at != kEnd && object[at] == '"') {
    const std::size_t key_end = walker.SkipString(at);
    if (key_end == kEnd) {
      return {};
    }
    const bool wanted = object.substr(at + 1, key_end - at - 2) == key;
    at = walker.SkipSpace(key_end);
    at = at == kEnd || object[at] != ':' ? kEnd : walker.SkipSpace(at + 1);
    const std::size_t end = at == kEnd ? kEnd : walker.SkipValue(at);
    if (end == kEnd) {
      return {};
    }
    if (wanted) {
      return object.substr(at, end - at);
    }
    at = walker.SkipSpace(end);
    at = at == kEnd || object[at] != ',' ? kEnd : walker.SkipSpace(at + 1);
  }
  return {};
}

Result<std::vector<std::string_view>> SplitElements(const TextFile& file, bool more_follow) {
  SplitJson out;
  std::size_t at = 0;
  REPRISE_TRY(SplitArray(file, Walker(file.text()), at, out));
  if (more_follow) {
    std::size_t end = at - 1;  // the ']' in place of a comma
    while (IsJsonSpace(file.text()[end - 1])) {
      --end;
    }
    if (file.text()[end - 1] == ',' || end == 1) {
      return NotJson(file, at - 1, "a value");
    }
  }
  return std::move(out.elements);
}

Result<std::vector<std::string_view>> SplitValues(const TextFile& file,
                                                  std::optional<std::size_t>* cut) {
  const std::string_view text = file.text();
  const Walker walker(text);
  std::size_t at = walker.SkipSpace(0);
  if (at == kEnd) {
    return NotJson(file, at, "a value");
  }
  SplitJson out;
  if (text[at] == '[') {
    REPRISE_TRY(SplitArray(file, walker, at, out));
    if (const std::size_t rest = walker.SkipSpace(at); rest != kEnd) {
      return NotJson(file, rest, "nothing after ']'");
    }
    return std::move(out.elements);
  }
  while (at != kEnd) {
    if (text[at] != '{') {
      return NotJson(file, at, "'{'");
    }
    const std::size_t end = walker.SkipValue(at);
    if (end == kEnd && cut != nullptr && !out.elements.empty()) {
      *cut = at;
      break;
    }
    if (end == kEnd) {
      return NotJson(file, end, "'}'");
    }
    out.elements.push_back(text.substr(at, end - at));
    at = walker.SkipSpace(end);
    if (at != kEnd && text[at] == ',') {
      at = walker.SkipSpace(at + 1);
    }
  }
  return std::move(out.elements);
}

Result<simdjson::dom::element> ParseElement(simdjson::dom::parser& parser, const TextFile& file,
                                            std::string_view element, bool* patched) {
  simdjson::dom::element root;
  // The bytes behind an element belong to the file or to its padding: no copy is needed.
  auto error = parser.parse(element.data(), element.size(), false).get(root);
  if (error == simdjson::SUCCESS) {
    return root;
  }
  const std::string fixed = PatchNumbers(element);
  if (parser.parse(fixed).get(root) == simdjson::SUCCESS) {
    if (patched != nullptr) {
      *patched = true;
    }
    return root;
  }
  return BadInput(fmt::format("{}: not JSON: {} in the value at byte {}", file.path(),
                              simdjson::error_message(error), file.OffsetOf(element)));
}

}  // namespace reprise
