// Messages → fields, shapes and columns. Only et_schema/columns sees this.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "et_schema/columns/block.h"

namespace reprise::columns {

// Of a message after its length, which is as short as it can be.
[[nodiscard]] std::uint64_t FramedBytes(std::string_view message);

// Splits messages as far as Chakra's schema goes: nodes, arguments and attributes become fields of
// their own, whose columns go by where they stand and by the attribute's name. What is not written
// as protobuf's own writers do (longer varints than needed, groups, cut fields), or not known to be
// a message, stays a text. So every message comes back byte by byte.
class Splitter {
 public:
  Splitter();
  // `header`: the first of the file, GlobalMetadata. The bytes must stay until Take().
  void Add(std::string_view message, bool header);
  [[nodiscard]] std::uint64_t bytes() const { return block_.bytes; }
  [[nodiscard]] std::uint32_t messages() const { return block_.messages; }
  // The block, without plans; the splitter is empty then.
  [[nodiscard]] Block Take();

 private:
  enum class Kind : std::uint8_t { kHeader, kNode, kArguments, kAttribute, kNumbers, kTexts };
  // Where a field stands: distinguishes the columns of equal tags.
  using Place = std::uint32_t;
  struct PlaceKey {
    Place parent;
    std::uint32_t what;
    std::uint32_t text;
    auto operator<=>(const PlaceKey&) const = default;
  };

  [[nodiscard]] Shape SplitFields(std::string_view bytes, Kind kind, Place place);
  // The field of a content with a length. An attribute's name moves `place`.
  [[nodiscard]] std::uint32_t SplitContent(std::string_view bytes, std::uint32_t tag, Kind kind,
                                           Place& place);
  [[nodiscard]] static bool IsNumbers(Kind kind, std::uint32_t number);
  [[nodiscard]] static Kind KindOf(Kind kind, std::uint32_t number);
  std::uint32_t FieldOf(Place place, const Field& field);
  std::uint32_t TextOf(std::string_view text);
  Place PlaceOf(Place parent, std::uint32_t what, std::uint32_t text);
  void Value(std::uint32_t column, std::uint64_t value) { pending_.push_back({column, value}); }

  struct Pending {
    std::uint32_t column;
    std::uint64_t value;
  };
  Block block_;
  std::vector<Pending> pending_;  // of the current message: columns come with its fields
  std::map<std::pair<Place, std::array<std::uint32_t, 3>>, std::uint32_t> fields_;
  std::map<PlaceKey, Place> places_;
  std::map<Shape, std::uint32_t> parts_, shapes_;
  std::unordered_map<std::string_view, std::uint32_t> texts_;
};

}  // namespace reprise::columns
