// Batches of host nodes as PyTorch's observer writes them since schema 1.0.2, without a document
// tree: building and searching that was over half of the time of reading a host trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/host_arguments.h"
#include "converters/json_stream.h"
#include "converters/plain_json.h"
#include "converters/pytorch/host/host_fields.h"
#include "converters/pytorch/host/host_node.h"
#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/host/string_pool.h"

namespace reprise::pytorch {

// Shapes, types and strides of an argument list, as the text that follows its values: a step does
// the same on the same shapes again and again, and what was read once need not be read again.
class KnownLists {
 public:
  struct Lists {
    std::string text;
    PlainJson::Tape tape;  // strings point into the text
    PlainElement shapes, types, strides;
  };
  // nullptr: not known.
  [[nodiscard]] const Lists* Find(std::string_view text) const;
  // `tape` was read from `text`, and has the lists at these places, or kAbsent.
  void Add(std::string_view text, std::span<const PlainEntry> tape,
           const std::array<std::size_t, 3>& places);

  static constexpr std::size_t kLongest = 1024;
  static constexpr std::size_t kAbsent = SIZE_MAX;

 private:
  static constexpr int kPlaceBits = 10;
  static std::size_t PlaceOf(std::string_view text);
  std::vector<Lists> lists_ = std::vector<Lists>(std::size_t{1} << kPlaceBits);
};

// One thread's, from batch to batch. Not thread-safe.
class PlainNodes {
 public:
  // Appends the batch's nodes and, for each, its oddities. False: something is not as the observer
  // writes it, and what was appended is not to be used; whether it is damage, an older version or
  // merely unusual, ReadHostNode says. What is accepted is read as ReadHostNode reads it.
  bool Read(const JsonBatch& batch, BatchStrings& strings, std::vector<HostNode>& nodes,
            std::vector<std::uint8_t>& oddities);

 private:
  bool ReadNode(BatchStrings& strings, HostNode& node, std::uint8_t& oddities);
  bool ReadArguments(ValueList& out, std::uint8_t& oddities);
  bool ReadAttributes(BatchStrings& strings, HostNode& node, std::uint8_t& oddities);

  bool ReadAttribute(HostField& field, std::size_t& value, const char*& heading_end);

  PlainJson json_;
  KnownLists known_;
  PlainJson::Tape tape_;
  PlainJson::Headings node_keys_, argument_keys_, attribute_keys_;
  PlainJson::Headings attributes_;  // up to the value; ids are HostFields
};

}  // namespace reprise::pytorch
