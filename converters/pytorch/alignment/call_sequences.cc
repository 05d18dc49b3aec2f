#include "converters/pytorch/alignment/call_sequences.h"

#include <algorithm>
#include <map>
#include <string_view>
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

std::vector<CallSequence> LongestFirst(std::map<std::int64_t, CallSequence>&& threads) {
  std::vector<CallSequence> out;
  for (auto& [thread, sequence] : threads) {
    sequence.thread = thread;
    out.push_back(std::move(sequence));
  }
  std::stable_sort(out.begin(), out.end(), [](const CallSequence& a, const CallSequence& b) {
    return a.records.size() > b.records.size();
  });
  return out;
}

std::vector<CallSequence> OfHost(const HostTrace& host, Symbols& symbols) {
  std::map<std::int64_t, CallSequence> threads;
  bool has_ids = true;
  for (std::size_t i = 0; i < host.nodes.size(); ++i) {
    const HostNode& node = host.nodes[i];
    if (IsLinkable(node) && !IsTransferRecord(*node.name)) {
      threads[node.thread].records.push_back(static_cast<std::int32_t>(i));
      has_ids = has_ids && node.rf_id > 0;
    }
  }
  for (auto& [thread, sequence] : threads) {
    const auto at = [&](std::int32_t i) -> const HostNode& {
      return host.nodes[static_cast<std::size_t>(i)];
    };
    std::sort(sequence.records.begin(), sequence.records.end(),
              [&](std::int32_t a, std::int32_t b) {
                const HostNode& x = at(a);
                const HostNode& y = at(b);
                return has_ids && x.rf_id != y.rf_id ? x.rf_id < y.rf_id : x.id < y.id;
              });
    for (const std::int32_t i : sequence.records) {
      sequence.tokens.push_back({symbols.Of(*at(i).name), HashShapes(at(i).inputs)});
    }
  }
  return LongestFirst(std::move(threads));
}

std::vector<CallSequence> OfKineto(const KinetoTrace& kineto, Symbols& symbols) {
  std::map<std::int64_t, CallSequence> threads;
  bool has_order = true;
  for (std::size_t i = 0; i < kineto.events.size(); ++i) {
    const KinetoEvent& event = kineto.events[i];
    if (!IsTransferRecord(*event.name)) {
      threads[event.thread].records.push_back(static_cast<std::int32_t>(i));
      has_order = has_order && event.ev_idx >= 0;
    }
  }
  for (auto& [thread, sequence] : threads) {
    const auto at = [&](std::int32_t i) -> const KinetoEvent& {
      return kineto.events[static_cast<std::size_t>(i)];
    };
    std::sort(sequence.records.begin(), sequence.records.end(),
              [&](std::int32_t a, std::int32_t b) {
                const KinetoEvent& x = at(a);
                const KinetoEvent& y = at(b);
                if (has_order && x.ev_idx != y.ev_idx) {
                  return x.ev_idx < y.ev_idx;
                }
                if (x.start_ns != y.start_ns) {
                  return x.start_ns < y.start_ns;
                }
                return x.end_ns != y.end_ns ? x.end_ns > y.end_ns : a < b;
              });
    for (const std::int32_t i : sequence.records) {
      sequence.tokens.push_back({symbols.Of(*at(i).name), at(i).input_shapes});
    }
  }
  return LongestFirst(std::move(threads));
}

}  // namespace

CallSequences MakeCallSequences(const HostTrace& host, const KinetoTrace& kineto) {
  Symbols symbols;
  CallSequences out;
  out.host = OfHost(host, symbols);
  out.kineto = OfKineto(kineto, symbols);
  return out;
}

}  // namespace reprise::pytorch
