// Every field and every string that stands in an `.et` file, whatever it means: read from the wire
// format itself, so that what no decoder knows is seen too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"

namespace reprise {

struct Census {
  struct Field {
    std::uint64_t count = 0;  // messages that have it
    // Distinct texts and how often; of argument lists the quoted ones.
    std::map<std::string, std::uint64_t, std::less<>> texts;
  };
  // "header.version", "node.name", "node.attr.pg_name"; a number of the wire format that the schema
  // does not have: "node.field 99".
  std::map<std::string, Field, std::less<>> fields;
  std::uint64_t nodes = 0;

  void Merge(const Census& other);
};

// Bad input: the file is none of length-delimited messages, or cut. Memory: the distinct texts.
[[nodiscard]] Result<Census> TakeCensus(const std::string& path);

// Whether docs/et_format.md has the field, by its name in a census.
[[nodiscard]] bool IsSchemaField(std::string_view name);

}  // namespace reprise
