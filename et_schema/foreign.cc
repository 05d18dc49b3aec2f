#include "et_schema/foreign.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.h"
#include "et_schema/et_def.pb.h"
#include "et_schema/header_fields.h"
#include "et_schema/metadata_codec.h"
#include "et_schema/node_stream.h"

namespace reprise {
namespace {

namespace pb = ChakraProtoMsg;

const ForeignAttribute* FindIn(const std::vector<ForeignAttribute>& attributes,
                               std::string_view name) {
  const auto it = std::find_if(attributes.begin(), attributes.end(),
                               [&](const ForeignAttribute& a) { return a.name == name; });
  return it == attributes.end() ? nullptr : &*it;
}

template <typename List, typename Values>
void Fill(List& list, const Values& values) {
  for (const auto& value : values) {
    list.add_values(value);
  }
}

template <typename CleanText>
void FillValue(const ForeignAttribute& from, const CleanText& clean, pb::AttributeProto& to) {
  if (const auto* i = std::get_if<std::int64_t>(&from.value)) {
    to.set_int64_val(*i);
  } else if (const auto* b = std::get_if<bool>(&from.value)) {
    to.set_bool_val(*b);
  } else if (const auto* d = std::get_if<double>(&from.value)) {
    to.set_double_val(*d);
  } else if (const auto* text = std::get_if<std::string>(&from.value)) {
    to.set_string_val(clean(*text));
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&from.value)) {
    Fill(*to.mutable_int64_list(), *ints);
  } else if (const auto* doubles = std::get_if<std::vector<double>>(&from.value)) {
    Fill(*to.mutable_double_list(), *doubles);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&from.value)) {
    for (const std::string& entry : *texts) {
      to.mutable_string_list()->add_values(clean(entry));
    }
  }
}

// Through the wire form, so that there is one place that says what a foreign node means.
class WireDecoder : public ForeignDecoder {
 public:
  WireDecoder(std::string path, bool native) : path_(std::move(path)), decoder_(path_) {
    decoder_.set_native(native);
  }

  Result<Node> Decode(const ForeignNode& from) override {
    message_.Clear();
    message_.set_id(from.id);
    message_.set_name(Clean(from.name));
    // Beyond the enum's numbers: kept, and counted by the decoder.
    message_.set_type(static_cast<pb::NodeType>(from.type));
    message_.mutable_data_deps()->Add(from.data_deps.begin(), from.data_deps.end());
    message_.set_start_time_micros(from.start_micros);
    message_.set_duration_micros(from.duration_micros.value_or(0));
    FillIo(from.inputs, *message_.mutable_inputs());
    FillIo(from.outputs, *message_.mutable_outputs());
    for (const ForeignAttribute& attribute : from.attributes) {
      pb::AttributeProto& to = *message_.add_attr();
      to.set_name(Clean(attribute.name));
      FillValue(
          attribute, [this](const std::string& text) { return Clean(text); }, to);
    }
    if (invalid_texts_ > 0) {
      Diagnostics found;
      found.Count("invalid_utf8",
                  fmt::format("{}: node {} at byte {}", path_, from.id, from.offset),
                  invalid_texts_);
      decoder_.Add(found);
      invalid_texts_ = 0;
    }
    bytes_.clear();
    Node node;
    if (!message_.AppendPartialToString(&bytes_) || !decoder_.Decode(bytes_, from.offset, view_)) {
      return BadInput(
          fmt::format("{}: node {} at byte {} is too large", path_, from.id, from.offset));
    }
    CopyHeader(view_, node);
    if (!DecodeArgs(view_.args, node.inputs, node.outputs)) {
      return BadInput(fmt::format("{}: node {} at byte {}: arguments cannot be decoded", path_,
                                  from.id, from.offset));
    }
    return node;
  }

  const Diagnostics& diagnostics() override { return decoder_.diagnostics(); }

 private:
  // protobuf complains on stderr about strings that are not UTF-8.
  std::string Clean(const std::string& text) {
    if (IsValidUtf8(text)) {
      return text;
    }
    ++invalid_texts_;
    return ReplaceInvalidUtf8(text);
  }

  void FillIo(const ForeignIo& from, pb::IOInfo& to) {
    to.set_values(Clean(from.values));
    to.set_shapes(Clean(from.shapes));
    to.set_types(Clean(from.types));
  }

  std::string path_;
  NodeDecoder decoder_;
  pb::Node message_;
  NodeView view_;
  std::string bytes_;
  std::uint64_t invalid_texts_ = 0;
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
  return std::make_unique<WireDecoder>(path, native);
}

Result<std::optional<TraceMetadata>> DecodeNativeHeader(const ForeignHeader& header,
                                                        const std::string& path,
                                                        Diagnostics& diagnostics) {
  if (header.Find(kFormatMark.name) == nullptr) {
    return std::nullopt;
  }
  const auto clean = [](const std::string& text) { return ReplaceInvalidUtf8(text); };
  pb::GlobalMetadata message;
  message.set_version(clean(header.version));
  for (const ForeignAttribute& attribute : header.attributes) {
    if (attribute.name != kNodeCountMark.name) {  // of the file that it was, which is whole
      pb::AttributeProto& to = *message.add_attr();
      to.set_name(clean(attribute.name));
      FillValue(attribute, clean, to);
    }
  }
  RawMetadata raw;
  const std::string bytes = message.SerializeAsString();
  if (!raw.Parse(bytes)) {
    return BadInput(fmt::format("{}: its header cannot be read", path));
  }
  MetadataExtras extras;
  TraceMetadata metadata = DecodeMetadata(raw, extras, diagnostics);
  if (extras.format > kFormatVersion) {
    return LaterFormat(path, extras.format);
  }
  return metadata;
}

}  // namespace reprise
