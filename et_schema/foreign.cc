#include "et_schema/foreign.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.h"
#include "et_schema/foreign_value.h"
#include "et_schema/header_fields.h"
#include "et_schema/metadata_codec.h"
#include "et_schema/node_stream.h"
#include "et_schema/storage_fields.h"

namespace reprise {
namespace {

const ForeignAttribute* FindIn(const std::vector<ForeignAttribute>& attributes,
                               std::string_view name) {
  const auto it = std::find_if(attributes.begin(), attributes.end(),
                               [&](const ForeignAttribute& a) { return a.name == name; });
  return it == attributes.end() ? nullptr : &*it;
}

// Calls `visit(text)` for each text of a node.
void ForEachText(auto& node, const auto& visit) {
  visit(node.name);
  for (auto* side : {&node.inputs, &node.outputs}) {
    visit(side->values);
    visit(side->shapes);
    visit(side->types);
  }
  for (auto& attribute : node.attributes) {
    visit(attribute.name);
    if (auto* text = std::get_if<std::string>(&attribute.value)) {
      visit(*text);
    } else if (auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) {
      std::for_each(texts->begin(), texts->end(), visit);
    }
  }
  if (node.storage) {
    ForEachStorageText(*node.storage, visit);
  }
}

class RawDecoder : public ForeignDecoder {
 public:
  RawDecoder(std::string path, bool native) : path_(std::move(path)), decoder_(path_) {
    decoder_.set_native(native);
  }

  Result<Node> Decode(const ForeignNode& foreign) override {
    const ForeignNode& from = Valid(foreign);
    RawNode& raw = decoder_.raw();
    raw.Clear();
    raw.id = from.id;
    raw.name = from.name;
    raw.type = from.type;
    raw.data_deps = from.data_deps;
    raw.start_micros = from.start_micros;
    raw.duration_micros = from.duration_micros.value_or(0);
    raw.inputs = {from.inputs.values, from.inputs.shapes, from.inputs.types};
    raw.outputs = {from.outputs.values, from.outputs.shapes, from.outputs.types};
    raw.storage = from.storage;
    for (const ForeignAttribute& attribute : from.attributes) {
      raw.Add(attribute.name, ForeignValue(attribute));
    }
    decoder_.DecodeRaw(from.offset, view_);
    Node node;
    CopyHeader(view_, node);
    if (!DecodeArgs(view_.args, node.inputs, node.outputs)) {
      return BadInput(fmt::format("{}: node {} at byte {}: arguments cannot be decoded", path_,
                                  from.id, from.offset));
    }
    return node;
  }

  const Diagnostics& diagnostics() override { return decoder_.diagnostics(); }

 private:
  // The node, with valid UTF-8 in its texts; counts those that were not.
  const ForeignNode& Valid(const ForeignNode& from) {
    std::uint64_t invalid = 0;
    ForEachText(from, [&](const std::string& text) { invalid += IsValidUtf8(text) ? 0 : 1; });
    if (invalid == 0) {
      return from;
    }
    Diagnostics found;
    found.Count("invalid_utf8", fmt::format("{}: node {} at byte {}", path_, from.id, from.offset),
                invalid);
    decoder_.Add(found);
    valid_ = from;
    ForEachText(valid_, [](std::string& text) { text = ReplaceInvalidUtf8(text); });
    return valid_;
  }

  std::string path_;
  NodeDecoder decoder_;
  NodeView view_;
  ForeignNode valid_;
};

}  // namespace

std::int64_t ForeignAttribute::AsInt(std::int64_t fallback) const {
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    return *i;
  }
  const auto* b = std::get_if<bool>(&value);
  return b == nullptr ? fallback : static_cast<std::int64_t>(*b);
}

const ForeignAttribute* ForeignNode::Find(std::string_view attribute) const {
  return FindIn(attributes, attribute);
}

void ForeignNode::Set(std::string_view attribute, decltype(ForeignAttribute::value) value) {
  for (ForeignAttribute& known : attributes) {
    if (known.name == attribute) {
      known.value = std::move(value);
      return;
    }
  }
  attributes.push_back({std::string(attribute), std::move(value)});
}

const ForeignAttribute* ForeignHeader::Find(std::string_view attribute) const {
  return FindIn(attributes, attribute);
}

std::unique_ptr<ForeignDecoder> ForeignDecoder::Create(const std::string& path, bool native) {
  return std::make_unique<RawDecoder>(path, native);
}

Result<std::optional<TraceMetadata>> DecodeNativeHeader(const ForeignHeader& header,
                                                        const std::string& path,
                                                        Diagnostics& diagnostics) {
  if (header.Find(kFormatMark.name) == nullptr) {
    return std::nullopt;
  }
  MetadataExtras extras;
  TraceMetadata metadata = DecodeMetadata(header, extras, diagnostics);
  if (extras.format > kFormatVersion) {
    return LaterFormat(path, extras.format);
  }
  return metadata;
}

}  // namespace reprise
