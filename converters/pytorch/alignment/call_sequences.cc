#include "converters/pytorch/alignment/call_sequences.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "converters/pytorch/alignment/link_by_alignment.h"
#include "converters/pytorch/kineto/shape_hash.h"

namespace reprise::pytorch {
namespace {

// Steps are counted from different starts.
std::string_view Comparable(std::string_view name) {
  constexpr std::string_view kStep = "ProfilerStep#";
  return name.starts_with(kStep) ? kStep : name;
}

class Symbols {
 public:
  std::uint32_t Of(const std::string& name) {
    return numbers_.emplace(Comparable(name), static_cast<std::uint32_t>(numbers_.size()))
        .first->second;
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

std::uint32_t HashShapes(const ValueList& inputs) {
  ShapeHash hash;
  for (const Value& input : inputs) {
    if (const TensorDesc* tensor = input.AsTensor()) {
      hash.Begin();
      for (const std::int64_t size : tensor->shape) {
        hash.Add(size);
      }
    }
  }
  return hash.Get();
}

// The records of each thread that are `wanted`, the longest thread first. They stand in the order
// of their calls: by `number` where all have one, `least` or more, and then by `rest`.
template <typename Record>
std::vector<CallSequence> SequencesOf(const std::vector<Record>& all, const auto& wanted,
                                      std::int64_t least, const auto& number, const auto& rest,
                                      const auto& shapes, Symbols& symbols) {
  std::map<std::int64_t, CallSequence> threads;
  bool numbered = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (wanted(all[i]) && !IsTransferRecord(*all[i].name)) {
      threads[all[i].thread].records.push_back(static_cast<std::int32_t>(i));
      numbered = numbered && number(all[i]) >= least;
    }
  }
  const auto at = [&](std::int32_t i) -> const Record& { return all[static_cast<std::size_t>(i)]; };
  const auto key = [&](std::int32_t i) {
    return std::tuple(numbered ? number(at(i)) : 0, rest(at(i)), i);
  };
  std::vector<CallSequence> out;
  for (auto& [thread, sequence] : threads) {
    sequence.thread = thread;
    std::sort(sequence.records.begin(), sequence.records.end(),
              [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
    for (const std::int32_t i : sequence.records) {
      sequence.tokens.push_back({symbols.Of(*at(i).name), shapes(at(i))});
    }
    out.push_back(std::move(sequence));
  }
  std::stable_sort(out.begin(), out.end(), [](const CallSequence& a, const CallSequence& b) {
    return a.records.size() > b.records.size();
  });
  return out;
}

}  // namespace

CallSequences MakeCallSequences(const HostTrace& host, const KinetoTrace& kineto) {
  Symbols symbols;
  CallSequences out;
  out.host = SequencesOf(
      host.nodes, IsLinkable, 1, [](const HostNode& node) { return node.rf_id; },
      [](const HostNode& node) { return node.id; },
      [](const HostNode& node) { return HashShapes(node.inputs); }, symbols);
  out.kineto = SequencesOf(
      kineto.events, [](const KinetoEvent& /*event*/) { return true; }, 0,
      [](const KinetoEvent& event) { return event.ev_idx; },
      [](const KinetoEvent& event) { return std::pair(event.start_ns, -event.end_ns); },
      [](const KinetoEvent& event) { return event.input_shapes; }, symbols);
  return out;
}

}  // namespace reprise::pytorch
