// Messages of all of Chakra's schemas → ForeignNode. Only et_schema sees this.
#pragma once

#include <string_view>

#include "et_schema/foreign.h"

namespace reprise {

// What the messages of a file show about its schema.
struct SchemaEvidence {
  bool node_first = false;            // the first message is a Node: no header
  bool old_header = false;            // the header's attributes are of the old kind
  bool old_attributes = false;        // a node has field 11
  bool second_layout = false;         // numbers in field 5, strings in 6 of an attribute: 0.0.2
  bool new_attributes = false;        // a node has named attributes in field 10
  bool communication_fields = false;  // a node has numbers where later ones have strings: 0.0.1
  // False: not a message of any of them.
  [[nodiscard]] bool AddFirst(std::string_view message);
  [[nodiscard]] bool Add(std::string_view message);
};

enum class WireSchema : std::uint8_t { kFirst, kSecond, kThird, kFourth };  // 0.0.1 … 0.0.4
[[nodiscard]] WireSchema SchemaOf(const SchemaEvidence& evidence);

// False: damaged.
[[nodiscard]] bool ParseForeign(std::string_view message, WireSchema schema, ForeignNode& node);
[[nodiscard]] bool ParseForeign(std::string_view message, WireSchema schema, ForeignHeader& header);

}  // namespace reprise
