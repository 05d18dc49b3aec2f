#include "et_schema/metadata_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "core/utf8.h"
#include "et_schema/attribute_writer.h"
#include "et_schema/header_lists.h"
#include "et_schema/node_encoder.h"
#include "et_schema/node_stream.h"

namespace reprise {
namespace {

// What the file itself says with its HEADER_MARKs.
constexpr std::int32_t kMarkFormat = kFormatVersion;
constexpr std::uint64_t kMarkNodeCount = kNodeCountUnknown;

std::string CleanText(std::string_view text) { return ReplaceInvalidUtf8(text); }

// False: of no type that this attribute can have.
template <typename Type, typename Value>
bool ReadAttribute(const RawAttribute& raw, Value& out) {
  if constexpr (Type::kShape == field::Shape::kText) {
    std::string_view text;
    const bool is_text = raw.AsText(text);
    out = is_text ? CleanText(text) : out;
    return is_text;
  } else if constexpr (Type::kShape == field::Shape::kReal) {
    return raw.AsDouble(out);
  } else if constexpr (Type::kShape == field::Shape::kTexts) {
    std::vector<std::string_view> views;
    const bool are_texts = raw.AsTexts(views);
    out.clear();
    std::transform(views.begin(), views.end(), std::back_inserter(out), CleanText);
    return are_texts;
  } else if constexpr (Type::kShape == field::Shape::kNumbers) {
    std::vector<std::int64_t> numbers;
    const bool are_numbers = raw.AsInts(numbers);
    out.assign(numbers.begin(), numbers.end());
    return are_numbers;
  } else {
    std::int64_t number = 0;
    const bool is_number = raw.AsInt(number);
    out = is_number ? static_cast<Value>(number) : out;
    return is_number;
  }
}

bool ReadMark(std::string_view mark, const RawAttribute& raw, MetadataExtras& extras) {
  if (mark == kFormatAttribute) {
    return raw.AsInt(extras.format);
  }
  extras.node_count = raw.bits == kNodeCountUnknown ? std::nullopt : std::optional(raw.bits);
  return !raw.IsList();
}

// False: of no type that this attribute can have, or not ours.
bool ReadHeaderAttribute(const RawAttribute& raw, TraceMetadata& out, HeaderLists& lists,
                         MetadataExtras& extras) {
#define HEADER_READ(key, type, to)              \
  if (raw.name == (key)) {                      \
    return ReadAttribute<field::type>(raw, to); \
  }
#define HEADER_FIELD(symbol, member, key, type, ...) HEADER_READ(key, type, out.member)
#define HEADER_PART(member, key, type, ...) HEADER_READ(key, type, out.member)
#define MACHINE_FIELD(member, key, type, ...) HEADER_READ(key, type, out.machine.member)
#define PLACEMENT_FIELD(member, key, type, ...) HEADER_READ(key, type, out.placement.member)
#define HEADER_LIST(key, type, present) HEADER_READ(#key, type, lists.key)
#define HEADER_MARK(symbol, key, type) \
  if (raw.name == (key)) {             \
    return ReadMark(key, raw, extras); \
  }
#include "et_schema/fields.def"
#undef HEADER_READ
  return false;
}

template <typename T>
bool Differs(const T& value, const std::type_identity_t<T>& other) {
  return value != other;
}

void FillMetadata(const TraceMetadata& m, WireBuffer& out) {
  constexpr std::uint32_t kVersion = 1;
  constexpr std::uint32_t kAttr = 2;  // fields of GlobalMetadata
  out.TextField(kVersion, m.version);
  Attributes attributes(out, kAttr);
  const HeaderLists lists = ListsOf(m);
#define HEADER_FIELD(symbol, member, name, type, value, written, ...) \
  attributes.PutIf<field::type>((written).always || Differs(m.member, value), name, m.member);
#define HEADER_PART(member, name, type, value, written, ...) \
  HEADER_FIELD(, member, name, type, value, written)
#define MACHINE_FIELD(member, name, type, value) \
  HEADER_FIELD(, machine.member, name, type, value, IfSet())
#define PLACEMENT_FIELD(member, name, type, value) \
  HEADER_FIELD(, placement.member, name, type, value, IfSet())
#define HEADER_LIST(name, type, present) attributes.PutIf<field::type>(present, #name, lists.name);
#define HEADER_MARK(symbol, name, type) attributes.Put<field::type>(name, kMark##symbol);
#include "et_schema/fields.def"
}

}  // namespace

Status EncodeMetadata(const TraceMetadata& metadata, std::string& out) {
  WireBuffer message;
  FillMetadata(metadata, message);
  return AppendMessage(message, "the metadata", out);
}

TraceMetadata DecodeMetadata(const RawMetadata& raw, MetadataExtras& extras,
                             Diagnostics& diagnostics) {
  TraceMetadata out;
  out.version = CleanText(raw.version);
  HeaderLists lists;
  for (const RawAttribute& attribute : raw.attributes) {
    if (!ReadHeaderAttribute(attribute, out, lists, extras)) {
      diagnostics.Count("unknown_metadata", CleanText(attribute.name));
    }
  }
  SetLists(lists, out);
  return out;
}

tl::unexpected<Error> LaterFormat(const std::string& path, std::int64_t format) {
  return BadInput(fmt::format("{}: written in format {} by a later Reprise; this one reads {}",
                              path, format, kFormatVersion));
}

}  // namespace reprise
