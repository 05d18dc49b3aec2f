// Reading and writing `.et` files: Chakra's length-delimited protobuf, plain, gz or zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

// Streams nodes from a file; memory does not grow with the file. Compression is recognised by
// content, not name. Not thread-safe; one reader per thread. Errors name file and byte offset (of
// the uncompressed stream).
class EtReader {
 public:
  static Result<std::unique_ptr<EtReader>> Open(const std::string& path);
  // A class's file of a folded set, or any other, as it stands: transfers name their group by its
  // role, and peers by their position. Open refuses such a file.
  static Result<std::unique_ptr<EtReader>> OpenAsItStands(const std::string& path);
  virtual ~EtReader() = default;
  [[nodiscard]] virtual const TraceMetadata& metadata() const = 0;
  // False at the end of the file.
  [[nodiscard]] virtual Result<bool> Next(Node& node) = 0;
  // Where the node last returned begins, in the uncompressed stream.
  [[nodiscard]] virtual std::uint64_t offset() const = 0;
  // Whether Reprise wrote the file: nothing in it had to be derived.
  [[nodiscard]] virtual bool native() const = 0;
  // Unknown attributes, values of unexpected types: counted, never lost silently.
  [[nodiscard]] virtual const Diagnostics& diagnostics() = 0;
};

// Writes `path` under a temporary name, renamed by Close(); without Close() nothing is left behind.
// `.gz` and `.zst` in the name choose compression. The same nodes give the same bytes. Strings must
// be UTF-8: invalid bytes are written as U+FFFD. A node has a CommSpec if and only if it is of a
// transfer type, and of the matching one (usage error otherwise).
class EtWriter {
 public:
  static Result<std::unique_ptr<EtWriter>> Create(const std::string& path,
                                                  const TraceMetadata& metadata);
  virtual ~EtWriter() = default;
  [[nodiscard]] virtual Status Write(const Node& node) = 0;
  // `nodes` nodes of EncodeNode, one after the other.
  [[nodiscard]] virtual Status WriteEncoded(std::string_view bytes, std::uint64_t nodes) = 0;
  [[nodiscard]] virtual Status Close() = 0;
};

// An attribute beside those of Node: a list of texts.
struct TextListAttribute {
  std::string_view name;
  std::vector<std::string> values;
};
// Appends a node as it stands in the file of `rank`, so that several threads can encode while one
// writes. Thread-safe. `more`: attributes at the end, for programs that read them; readers of
// Reprise count them (`unknown_attribute`).
[[nodiscard]] Status EncodeNode(const Node& node, std::int32_t rank, std::string& out,
                                std::span<const TextListAttribute> more = {});

}  // namespace reprise
