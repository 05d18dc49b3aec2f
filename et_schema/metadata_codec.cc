#include "et_schema/metadata_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "core/utf8.h"
#include "et_schema/attribute_writer.h"
#include "et_schema/foreign_value.h"
#include "et_schema/header_fields.h"
#include "et_schema/header_lists.h"
#include "et_schema/node_encoder.h"
#include "et_schema/node_stream.h"

namespace reprise {
namespace {

std::string CleanText(std::string_view text) { return ReplaceInvalidUtf8(text); }

// False: of no type that this attribute can have.
template <typename Type, typename Value>
bool ReadAttribute(const auto& raw, Value& out) {
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

// `value` has the interface of RawAttribute. False: of no type that this attribute can have, or not
// ours.
bool ReadHeaderAttribute(std::string_view name, const auto& value, TraceMetadata& out,
                         HeaderLists& lists, MetadataExtras& extras) {
  if (name == kFormatMark.name) {
    return value.AsInt(extras.format);
  }
  bool read = false;
  const auto read_into = [&](const auto& table, auto& owner) {
    ForEachMember(table, [&]<typename Row>(const Row& row) {
      if (name == row.name) {
        read = ReadAttribute<WrittenAs<Row>>(value, row.Of(owner));
      }
    });
  };
  read_into(kHeaderFields, out);
  read_into(kMachineFields, out.machine);
  read_into(kPlacementFields, out.placement);
  read_into(kClockFields, out);
  read_into(kHeaderLists, lists);
  return read;
}

void FillMetadata(const TraceMetadata& m, WireBuffer& out) {
  constexpr std::uint32_t kVersion = 1;
  constexpr std::uint32_t kAttr = 2;  // fields of GlobalMetadata
  out.TextField(kVersion, m.version);
  Attributes attributes(out, kAttr);
  const auto put = [&](const auto& table, const auto& owner) {
    ForEachMember(table, [&]<typename Row>(const Row& row) {
      attributes.PutIf<WrittenAs<Row>>(row.written.always || !row.IsDefault(owner), row.name,
                                       row.Of(owner));
    });
  };
  attributes.Put<WrittenAs<decltype(kFormatMark)>>(kFormatMark.name, kFormatVersion);
  put(kHeaderFields, m);
  put(kMachineFields, m.machine);
  put(kPlacementFields, m.placement);
  put(kClockFields, m);
  const HeaderLists lists = ListsOf(m);
  const auto put_if = [&](bool present, const auto& table) {
    if (present) {
      put(table, lists);
    }
  };
  put(kStepLists, lists);
  put_if(!m.ranges.empty(), kRangeLists);
  put_if(!m.index_ranges.empty(), kIndexRangeLists);
  put_if(!m.samples.empty(), kSampleLists);
  put_if(!m.groups.empty(), kGroupLists);
  put(kDiagnosticsLists, lists);
  put_if(!m.link.method.empty(), kLinkLists);
  attributes.Put<WrittenAs<decltype(kNodeCountMark)>>(kNodeCountMark.name, kNodeCountUnknown);
}

}  // namespace

Status EncodeMetadata(const TraceMetadata& metadata, std::string& out) {
  WireBuffer message;
  FillMetadata(metadata, message);
  return AppendMessage(message, "the metadata", out);
}

TraceMetadata DecodeMetadata(const RawMetadata& header, MetadataExtras& extras,
                             Diagnostics& diagnostics) {
  TraceMetadata out;
  out.version = CleanText(header.version);
  HeaderLists lists;
  for (const RawAttribute& raw : header.attributes) {
    if (raw.name == kNodeCountMark.name && !raw.IsList()) {
      extras.node_count = raw.bits == kNodeCountUnknown ? std::nullopt : std::optional(raw.bits);
    } else if (!ReadHeaderAttribute(raw.name, raw, out, lists, extras)) {
      diagnostics.Count("unknown_metadata", CleanText(raw.name));
    }
  }
  SetLists(lists, out);
  return out;
}

TraceMetadata DecodeMetadata(const ForeignHeader& header, MetadataExtras& extras,
                             Diagnostics& diagnostics) {
  TraceMetadata out;
  out.version = CleanText(header.version);
  HeaderLists lists;
  for (const ForeignAttribute& attribute : header.attributes) {
    if (attribute.name != kNodeCountMark.name &&  // of the file that it was, which is whole
        !ReadHeaderAttribute(attribute.name, ForeignValue(attribute), out, lists, extras)) {
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
