// Foreign traces: Chakra's messages as plain values, whatever schema they were written in.
// Converters read them with ForeignReader (or fill them from other forms, such as JSON) and turn
// them into nodes with ForeignDecoder; what an edge or a missing time means is for the converter to
// say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

struct ForeignAttribute {
  std::string name;
  // An integer beyond 2^63 is a double.
  std::variant<std::int64_t, bool, double, std::string, std::vector<std::int64_t>,
               std::vector<double>, std::vector<std::string>>
      value;
  // An integer or a boolean, else `fallback`.
  [[nodiscard]] std::int64_t AsInt(std::int64_t fallback) const;
};

struct ForeignIo {
  std::string values, shapes, types;  // Python lists, as text
};

struct ForeignNode {
  std::uint64_t offset = 0;  // where it begins in its file, for messages
  std::uint64_t id = 0;
  std::string name;
  std::uint32_t type = 0;  // NodeType, or a number that is none
  std::vector<std::uint64_t> ctrl_deps, data_deps;
  std::uint64_t start_micros = 0;
  std::optional<std::uint64_t> duration_micros;
  ForeignIo inputs, outputs;
  std::vector<ForeignAttribute> attributes;
  std::optional<StorageWork> storage;
  std::vector<std::uint32_t> unknown_fields;  // of its message: what no schema here has

  [[nodiscard]] const ForeignAttribute* Find(std::string_view attribute) const;
  // Replaces or adds.
  void Set(std::string_view attribute, decltype(ForeignAttribute::value) value);
};

struct ForeignHeader {
  std::string version;
  std::vector<ForeignAttribute> attributes;
  [[nodiscard]] const ForeignAttribute* Find(std::string_view attribute) const;
};

// `.et` files of every schema that Chakra has had:
//   0.0.1        fields of their own for times and communication, no attributes
//   0.0.2, 0.0.3 one list `parent`, arguments as six strings, attributes by type; perhaps a header
//   0.0.4        today's; GlobalMetadata first. Storage, batch and checkpoint nodes, which Chakra's
//                pull request 216 adds, are read; fields and node types beyond are unknown ones
// A file does not name its schema; the messages reveal it. Old files are read as if they were
// 0.0.4: `parent` becomes data_deps, node and collective types get today's numbers.
class ForeignReader {
 public:
  static Result<std::unique_ptr<ForeignReader>> Open(const std::string& path);
  virtual ~ForeignReader() = default;
  [[nodiscard]] virtual std::string_view schema() const = 0;  // "0.0.3"
  [[nodiscard]] virtual const ForeignHeader& header() const = 0;
  // Written by Reprise.
  [[nodiscard]] virtual bool native() const = 0;
  // False at the end of the file.
  [[nodiscard]] virtual Result<bool> Next(ForeignNode& node) = 0;
};
// Whether the first message looks like one of those; reads no more than a few kB.
[[nodiscard]] bool LooksLikeEt(const std::string& path);

// What EtReader makes of such a header. Unset: Reprise did not write it. Bad input if a later
// version did.
[[nodiscard]] Result<std::optional<TraceMetadata>> DecodeNativeHeader(const ForeignHeader& header,
                                                                      const std::string& path,
                                                                      Diagnostics& diagnostics);

// As EtReader reads a node, but without ctrl_deps.
class ForeignDecoder {
 public:
  // `path` begins every example in the diagnostics. `native`: of a file that Reprise wrote.
  static std::unique_ptr<ForeignDecoder> Create(const std::string& path, bool native = false);
  virtual ~ForeignDecoder() = default;
  [[nodiscard]] virtual Result<Node> Decode(const ForeignNode& node) = 0;
  [[nodiscard]] virtual const Diagnostics& diagnostics() = 0;
};

}  // namespace reprise
