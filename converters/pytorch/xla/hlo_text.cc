#include "converters/pytorch/xla/hlo_text.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

// Behind the bracket that closes the one at `at`; kNowhere: it is not closed.
std::size_t BehindBracket(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    depth += c == '(' || c == '{' || c == '[' ? 1 : c == ')' || c == '}' || c == ']' ? -1 : 0;
    if (depth == 0) {
      return at + 1;
    }
  }
  return kNowhere;
}

struct HloParts {
  std::string_view name, result, opcode, operands, attributes;
};

std::optional<HloParts> SplitInstruction(std::string_view text) {
  constexpr std::string_view kIs = " = ";
  const std::size_t is = text.find(kIs);
  if (is == kNowhere) {
    return std::nullopt;
  }
  HloParts out;
  out.name = text.substr(0, is);
  constexpr std::string_view kRoot = "ROOT ";
  out.name.remove_prefix(out.name.starts_with(kRoot) ? kRoot.size() : 0);
  out.name.remove_prefix(out.name.starts_with('%') ? 1 : 0);
  text.remove_prefix(is + kIs.size());
  const std::size_t result =
      text.starts_with('(') ? BehindBracket(text, 0) : std::min(text.find(' '), text.size());
  if (result == kNowhere || result >= text.size()) {
    return std::nullopt;
  }
  out.result = text.substr(0, result);
  text.remove_prefix(result);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::size_t open = text.find('(');
  const std::size_t close = open == kNowhere ? kNowhere : BehindBracket(text, open);
  out.opcode = text.substr(0, std::min(open, text.size()));
  if (close == kNowhere || out.opcode.empty() || !std::ranges::all_of(out.opcode, IsNameChar)) {
    return std::nullopt;
  }
  out.operands = text.substr(open + 1, close - open - 2);
  out.attributes = text.substr(close);
  return out;
}

// Bytes of all arrays in a list of shapes; -1: there is none, or one of an unknown type. `type`: of
// the first.
std::int64_t BytesOfShapes(std::string_view shapes, std::string& type) {
  std::int64_t bytes = -1;
  constexpr std::int64_t kMostBits = std::int64_t{1} << 49;
  for (std::size_t at = 0; at < shapes.size(); ++at) {
    if (shapes[at] == '{') {  // a layout
      const std::size_t behind = BehindBracket(shapes, at);
      at = behind == kNowhere ? shapes.size() : behind - 1;
      continue;
    }
    if (shapes[at] != '[') {
      continue;
    }
    std::size_t begin = at;
    while (begin > 0 && std::isalnum(static_cast<unsigned char>(shapes[begin - 1])) != 0) {
      --begin;
    }
    const std::string_view name = shapes.substr(begin, at - begin);
    const std::size_t close = std::min(shapes.find(']', at), shapes.size());
    std::int64_t bits = HloTypeBits(name);
    for (std::string_view size : SplitText(shapes.substr(at + 1, close - at - 1), ',')) {
      size.remove_prefix(size.starts_with("<=") ? 2 : 0);
      const std::int64_t count = size.empty() ? 1 : ParseNumber<std::int64_t>(size).value_or(-1);
      bits = count < 0 || (count > 0 && bits > kMostBits / count) ? 0 : bits * count;
      if (count == 0) {
        break;
      }
    }
    if (HloTypeBits(name) == 0 || bits < 0) {
      return -1;
    }
    type = type.empty() ? std::string(name) : type;
    bytes = std::max<std::int64_t>(bytes, 0) + (bits + 7) / 8;
    at = close;
  }
  return bytes;
}

// What is behind `name` in the attributes; empty: there is none.
std::string_view Attribute(std::string_view attributes, std::string_view name) {
  for (std::size_t at = attributes.find(name); at != kNowhere; at = attributes.find(name, at + 1)) {
    const bool whole = at == 0 || !IsNameChar(attributes[at - 1]);
    const std::size_t behind = at + name.size();
    if (whole && behind < attributes.size() && attributes[behind] == '=') {
      return attributes.substr(behind + 1);
    }
  }
  return {};
}

std::vector<std::int64_t> Integers(std::string_view text) {
  std::vector<std::int64_t> out;
  for (const std::string_view one : SplitText(text, ',')) {
    if (const auto number = ParseNumber<std::int64_t>(one)) {
      out.push_back(*number);
    }
  }
  return out;
}

// "{{0,1},{2,3}}", "{{0,1,2,3}}", "{}".
std::vector<std::vector<std::int64_t>> Lists(std::string_view text) {
  std::vector<std::vector<std::int64_t>> out;
  const std::size_t behind = BehindBracket(text, 0);
  text = text.substr(0, behind == kNowhere ? 0 : behind - 1);
  for (std::size_t open = text.find('{', 1); open != kNowhere; open = text.find('{', open + 1)) {
    const std::size_t close = text.find('}', open);
    if (close == kNowhere) {
      break;
    }
    out.push_back(Integers(text.substr(open + 1, close - open - 1)));
  }
  return out;
}

// What is in the brackets that `text` begins with, and passes them.
std::string_view InBrackets(std::string_view& text) {
  const std::size_t behind = BehindBracket(text, 0);
  if (behind == kNowhere || behind < 2) {
    return {};
  }
  const std::string_view out = text.substr(1, behind - 2);
  text.remove_prefix(behind);
  return out;
}

// "mesh['x'=2,'y'=4] {'x'}". Other forms of it are not read.
void ReadMesh(std::string_view text, HloCollective& out) {
  constexpr std::string_view kMesh = "mesh";
  text.remove_prefix(kMesh.size());
  std::vector<std::string_view> names;
  std::vector<std::int64_t> sizes;
  for (const std::string_view axis : SplitText(InBrackets(text), ',')) {
    const std::size_t is = axis.find('=');
    const auto size =
        is == kNowhere ? std::nullopt : ParseNumber<std::int64_t>(axis.substr(is + 1));
    if (!size) {
      return;
    }
    names.push_back(axis.substr(0, is));
    sizes.push_back(*size);
  }
  if (!text.starts_with(" {")) {
    return;
  }
  text.remove_prefix(1);
  std::vector<std::int64_t> axes;
  for (const std::string_view name : SplitText(InBrackets(text), ',')) {
    axes.push_back(std::ranges::find(names, name) - names.begin());  // none: beyond all
  }
  out.has_groups = GroupsAlong(sizes, axes, out.groups);
}

void ReadGroups(std::string_view text, HloCollective& out) {
  if (text.starts_with("mesh[")) {
    return ReadMesh(text, out);
  }
  if (text.starts_with('{')) {
    out.groups = Lists(text);
    out.has_groups = !out.groups.empty() || !out.flattened;
    return;
  }
  if (!text.starts_with('[')) {
    return;
  }
  const std::vector<std::int64_t> sizes = Integers(InBrackets(text));
  constexpr std::string_view kCount = "<=";
  if (sizes.size() != 2 || !text.starts_with(kCount)) {
    return;
  }
  text.remove_prefix(kCount.size());
  const std::vector<std::int64_t> shape = Integers(InBrackets(text));
  std::vector<std::int64_t> order;
  if (text.starts_with("T(")) {
    text.remove_prefix(1);
    order = Integers(InBrackets(text));
  }
  out.has_groups = ExpandGroups(sizes[0], sizes[1], shape, order, out.groups);
}

}  // namespace

std::optional<HloText> ParseHloText(std::string_view text) {
  const auto parts = SplitInstruction(text);
  if (!parts) {
    return std::nullopt;
  }
  HloText out{.name = parts->name, .opcode = parts->opcode, .last_operand = {}};
  if (const std::size_t at = parts->operands.rfind('%'); at != kNowhere) {
    std::string_view name = parts->operands.substr(at + 1);
    out.last_operand = name.substr(0, name.find_first_of(" ,)"));
  }
  return out;
}

std::vector<std::pair<std::int64_t, std::int64_t>> ParseHloPairs(std::string_view text) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const std::vector<std::int64_t>& pair : Lists(text)) {
    if (pair.size() == 2) {
      out.emplace_back(pair[0], pair[1]);
    }
  }
  return out;
}

std::optional<HloCollective> ParseHloTransfer(std::string_view text) {
  const auto parts = SplitInstruction(text);
  const HloOpcode opcode = parts ? ParseHloOpcode(parts->opcode) : HloOpcode();
  if (!opcode.transfer || opcode.part == HloPart::kDone) {
    return std::nullopt;
  }
  HloCollective out{.kind = *opcode.transfer};
  out.operand_bytes = BytesOfShapes(parts->operands, out.type);
  if (opcode.part == HloPart::kWhole) {
    out.result_bytes = BytesOfShapes(parts->result, out.type);
  }
  out.has_channel = !Attribute(parts->attributes, "channel_id").empty();
  out.flattened = Attribute(parts->attributes, "use_global_device_ids").starts_with("true");
  ReadGroups(Attribute(parts->attributes, "replica_groups"), out);
  out.pairs = ParseHloPairs(Attribute(parts->attributes, "source_target_pairs"));
  if (std::string_view said = Attribute(parts->attributes, kHloSendPairs); !said.empty()) {
    said.remove_prefix(said.starts_with('"') ? 1 : 0);
    out.pairs = ParseHloPairs(said);
  }
  return out;
}

}  // namespace reprise::pytorch
