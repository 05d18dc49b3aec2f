// The elements of one batch (json_stream.h).
#include <utility>
#include <vector>

#include "converters/json_stream.h"

namespace reprise {

std::size_t ElementPlaces::AtByte(std::size_t index) {
  const std::string_view text = Text(index);
  return batch_.text.OffsetOf(text.empty() ? batch_.text.text() : text);
}

// The parser has found all brackets and commas outside of strings: few of a text's bytes.
void ElementPlaces::FindByStructure() {
  const std::string_view text = batch_.text.text();
  const std::uint32_t* const at = parser_->implementation->structural_indexes.get();
  const std::uint32_t count = parser_->implementation->n_structural_indexes;
  std::size_t depth = 0;
  std::size_t begin = 0;  // of the element at depth 1
  for (std::uint32_t i = 0; i < count; ++i) {
    switch (text[at[i]]) {
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        --depth;
        break;
      default:
        break;
    }
    const bool ends = depth == 0 || (depth == 1 && text[at[i]] == ',');
    if (ends && begin != 0) {
      elements_.push_back(text.substr(begin, at[i] - begin));
    }
    begin = depth == 0 ? 0 : ends || i == 0 ? (i + 1 < count ? at[i + 1] : 0) : begin;
  }
}

std::string_view ElementPlaces::Text(std::size_t index) {
  if (elements_.empty() && parser_ != nullptr) {
    FindByStructure();
  } else if (elements_.empty()) {
    if (auto elements = SplitElements(batch_.text, !batch_.last)) {
      elements_ = std::move(*elements);
    }
  }
  return index < elements_.size() ? elements_[index] : std::string_view();
}

Status VisitElements(const JsonBatch& batch, simdjson::dom::parser& parser,
                     const ElementVisitor& visit) {
  std::size_t index = 0;
  simdjson::dom::array array;
  if (const std::string_view text = batch.text.text();
      parser.parse(text.data(), text.size(), false).get(array) == simdjson::SUCCESS &&
      (batch.last || array.size() != 0)) {
    ElementPlaces places(batch, &parser);
    for (const simdjson::dom::element root : array) {
      REPRISE_TRY(visit(root, index++, places, false));
    }
    return {};
  }
  // Damage, or numbers that JSON has not: one by one, to find where.
  ElementPlaces places(batch, nullptr);
  REPRISE_ASSIGN(const std::vector<std::string_view> elements,
                 SplitElements(batch.text, !batch.last));
  for (const std::string_view element : elements) {
    bool patched = false;
    REPRISE_ASSIGN(const simdjson::dom::element root,
                   ParseElement(parser, batch.text, element, &patched));
    REPRISE_TRY(visit(root, index++, places, patched));
  }
  return {};
}

}  // namespace reprise
