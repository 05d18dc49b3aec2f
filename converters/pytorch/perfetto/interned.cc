#include "converters/pytorch/perfetto/interned.h"

#include <utility>

#include "converters/pytorch/perfetto/packets.h"

namespace reprise::pytorch {
namespace {

struct InternedTable {
  std::uint32_t field;  // of InternedData
  std::uint32_t text;   // of its entries
  InternedTexts::Kind kind;
};
constexpr InternedTable kTables[] = {
    {1, 2, InternedTexts::Kind::kCategory},        {2, 2, InternedTexts::Kind::kName},
    {3, 2, InternedTexts::Kind::kAnnotationName},  {24, 2, InternedTexts::Kind::kStage},
    {29, 2, InternedTexts::Kind::kAnnotationText}, {1000, 3, InternedTexts::Kind::kKernel},
    {1001, 2, InternedTexts::Kind::kArgument}};
constexpr std::uint32_t kEntryId = 1;
constexpr std::uint32_t kCounterDescriptors = 47;

}  // namespace

bool ReadCounterNames(std::string_view message, std::map<std::uint64_t, std::string>& names) {
  constexpr std::uint32_t kSpecs = 1;
  return ForEachMessageField(message, [&names](const MessageField& field) {
    std::uint64_t id = 0;
    std::string_view name;
    if (!field.Is(kSpecs, WireType::kBytes)) {
      return true;
    }
    const bool read = ForEachMessageField(field.bytes, [&](const MessageField& part) {
      id = part.Is(1, WireType::kVarint) ? part.bits : id;
      name = part.Is(2, WireType::kBytes) ? part.bytes : name;
      return true;
    });
    names[id] = name;
    return read;
  });
}

bool InternedTexts::Add(std::string_view message) {
  return ForEachMessageField(message, [this](const MessageField& field) {
    if (field.Is(kCounterDescriptors, WireType::kBytes)) {
      std::uint64_t id = 0;
      Counters counters;
      const bool read = ForEachMessageField(field.bytes, [&](const MessageField& part) {
        id = part.Is(kEntryId, WireType::kVarint) ? part.bits : id;
        counters.gpu =
            part.Is(3, WireType::kVarint) ? static_cast<std::int32_t>(part.bits) : counters.gpu;
        return !part.Is(2, WireType::kBytes) || ReadCounterNames(part.bytes, counters.names);
      });
      counters_[id] = std::move(counters);
      return read;
    }
    for (const InternedTable& table : kTables) {
      if (!field.Is(table.field, WireType::kBytes)) {
        continue;
      }
      std::uint64_t id = 0;
      std::string_view text;
      const bool read = ForEachMessageField(field.bytes, [&](const MessageField& part) {
        id = part.Is(kEntryId, WireType::kVarint) ? part.bits : id;
        text = part.Is(table.text, WireType::kBytes) ? part.bytes : text;
        return true;
      });
      texts_.at(static_cast<std::size_t>(table.kind))[id] = text;
      return read;
    }
    return true;
  });
}

const std::string* InternedTexts::Find(Kind kind, std::uint64_t id) const {
  const auto& texts = texts_.at(static_cast<std::size_t>(kind));
  const auto at = texts.find(id);
  return at == texts.end() ? nullptr : &at->second;
}

const InternedTexts::Counters* InternedTexts::FindCounters(std::uint64_t id) const {
  const auto at = counters_.find(id);
  return at == counters_.end() ? nullptr : &at->second;
}

}  // namespace reprise::pytorch
