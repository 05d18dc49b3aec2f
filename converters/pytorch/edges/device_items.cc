#include "converters/pytorch/edges/device_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/counters.h"

namespace reprise::pytorch {

DeviceItems::Cuts DeviceItems::AddFrameCalls(std::vector<std::vector<Item>>& threads) const {
  Cuts cuts(rank_.list.operations.size());
  const auto& calls = rank_.kineto.device.calls;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const CallLink& link = rank_.links.calls[c];
    if (!link.Cuts(calls[c])) {
      continue;
    }
    if (link.node >= 0) {
      cuts[static_cast<std::size_t>(link.node)].push_back(static_cast<std::int32_t>(c));
      continue;
    }
    auto& items = threads[static_cast<std::size_t>(link.thread)];
    Item item{.kind = Item::Kind::kCall,
              .operation = link.operation,
              .thread = link.thread,
              .call = static_cast<std::int32_t>(c),
              .start_ns = calls[c].start_ns,
              .end_ns = calls[c].start_ns};
    if (!link.events.empty()) {
      items.push_back(item);
    }
    if (Waits(item.call)) {
      items.push_back(HostWait(item.call));
    } else {
      item.end_ns = calls[c].end_ns;
      items.push_back(item);
    }
  }
  return cuts;
}

Item DeviceItems::HostWait(std::int32_t c) const {
  Item item{.kind = Item::Kind::kHostWait,
            .operation = Link(c).operation,
            .thread = Link(c).thread,
            .call = c,
            .start_ns = rank_.Call(c).start_ns,
            .end_ns = rank_.Call(c).end_ns};
  for (const DeviceSource& source : Link(c).sources) {
    item.start_ns = std::max(item.start_ns, rank_.Event(source.event).end_ns);
  }
  return item;
}

void DeviceItems::AddPieces(std::int32_t operation, const std::vector<std::int32_t>& calls,
                            std::vector<Item>& items) const {
  const Operation& op = rank_.Op(operation);
  std::int64_t at_ns = op.start_ns;
  Item piece{.kind = Item::Kind::kHead, .operation = operation, .thread = op.thread};
  const auto cut = [&](std::int64_t end_ns, std::int32_t call) {
    piece.call = call;
    piece.start_ns = at_ns;
    piece.end_ns = at_ns = std::max(at_ns, end_ns);
    items.push_back(piece);
    piece.kind = Item::Kind::kRest;
  };
  for (const std::int32_t c : calls) {
    cut(rank_.Call(c).start_ns, Link(c).events.empty() ? -1 : c);
    if (Waits(c)) {
      items.push_back(HostWait(c));
      at_ns = std::max(at_ns, items.back().end_ns);
    }
  }
  if (at_ns < op.end_ns || calls.empty()) {
    cut(op.end_ns, -1);
  }
}

bool DeviceItems::OnHost(std::int32_t operation) const {
  if (rank_.kineto.device.empty() || rank_.InfoOf(operation).kind != OpKind::kWork) {
    return true;
  }
  const Operation& op = rank_.Op(operation);
  const HostNode& host = rank_.host.nodes[static_cast<std::size_t>(op.host)];  // a node has one
  bool any = false;
  for (const ValueList* values : {&host.inputs, &host.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      if (tensor->device != "cpu") {
        return false;
      }
      any = true;
    }
  }
  return any;
}

void DeviceItems::AddEvents(std::vector<Item>& items) const {
  const auto& events = rank_.kineto.device.events;
  const std::size_t first = items.size();
  for (std::size_t e = 0; e < events.size(); ++e) {
    items.push_back({.kind = Item::Kind::kDevice,
                     .operation = rank_.links.events[e].node >= 0 ? rank_.links.events[e].node
                                                                  : rank_.links.events[e].operation,
                     .event = static_cast<std::int32_t>(e),
                     .start_ns = events[e].start_ns,
                     .end_ns = events[e].end_ns});
  }
  for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
    if (const std::int32_t e = rank_.transfers[t].device_event; e >= 0) {
      items[first + static_cast<std::size_t>(e)].transfer = static_cast<std::int32_t>(t);
    }
  }
}

void SeparateItems(RankCapture& rank, std::vector<std::vector<Item>>& threads) {
  if (rank.kineto.device.empty()) {
    return;
  }
  for (auto& items : threads) {
    for (std::size_t i = 1; i < items.size(); ++i) {
      Item& before = items[i - 1];
      if (before.end_ns > items[i].start_ns) {
        const std::int64_t end_ns = std::max(before.start_ns, items[i].start_ns);
        CountTime("thread_overlap", before.end_ns - end_ns, rank.diagnostics);
        before.end_ns = end_ns;
      }
    }
  }
}

void CompareDeviceTime(RankCapture& rank, const Timeline& timeline) {
  constexpr std::int64_t kNoticed = 1'000;  // one in so many
  auto left_ns = rank.kineto.device.recorded_ns;
  for (const Item& item : timeline.items) {
    if (item.kind == Item::Kind::kDevice) {
      left_ns[rank.Event(item.event).Place()] -= item.end_ns - item.start_ns;
    }
  }
  for (const auto& [place, difference_ns] : left_ns) {
    const std::int64_t recorded_ns = rank.kineto.device.recorded_ns[place];
    if (std::abs(difference_ns) > recorded_ns / kNoticed) {
      const auto& [device, stream, kind] = place;
      rank.diagnostics.Count(
          "stream_time_differs",
          fmt::format("{}: {} on stream {}/{}: {} ns recorded, {} ns taken", rank.label,
                      kind == DeviceEvent::Kind::kKernel   ? "kernels"
                      : kind == DeviceEvent::Kind::kMemcpy ? "copies"
                                                           : "fills",
                      device, stream, recorded_ns, recorded_ns - difference_ns));
    }
  }
}

}  // namespace reprise::pytorch
