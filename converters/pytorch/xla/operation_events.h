// Operations of XLA as events of a Kineto file: the one place where a kernel, a copy or a transfer
// becomes one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pytorch/kineto/event_list.h"
#include "converters/pytorch/xla/known_transfers.h"

namespace reprise::pytorch {

// What was left out or assumed, by the name of its counter.
using XlaCounts = std::map<std::string, std::uint64_t, std::less<>>;

struct OperationPlace {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t stream = 0;
  std::int64_t item = -1;           // its number, by which others wait for it
  std::vector<std::int64_t> after;  // that it waited for, on other streams
};

class OperationEvents {
 public:
  OperationEvents(const XlaProfile& profile, XlaDevice device, DeviceRanks ranks, EventList& events,
                  XlaCounts& counts)
      : profile_(profile),
        device_(device),
        transfers_(profile, device, std::move(ranks)),
        events_(events),
        counts_(counts) {}

  // `moves`: it may be a transfer; else it begins what another event shows. The number of a second
  // event that ran beside it, of what sends and receives; -1: there is none.
  std::int64_t Add(const OperationFacts& facts, const OperationPlace& place, bool moves);
  [[nodiscard]] std::int64_t NextItem() { return next_item_++; }
  void SetNextItem(std::int64_t next) { next_item_ = next; }

 private:
  void Begin(std::string_view category, std::string_view name, const OperationPlace& place);
  void AddOperation(const OperationFacts& facts, const OperationPlace& place, OpClass op_class);
  void AddKernelDetails(const OperationFacts& facts);
  void AddCopy(const OperationFacts& facts, const OperationPlace& place);
  void AddTransfer(const OperationFacts& facts, const OperationPlace& place,
                   const RankTransfer& transfer);
  void AddWhere(const OperationFacts& facts, const OperationPlace& place);

  const XlaProfile& profile_;
  XlaDevice device_;
  KnownTransfers transfers_;
  EventList& events_;
  XlaCounts& counts_;
  EventArguments args_;
  std::int64_t next_item_ = 0;
};

}  // namespace reprise::pytorch
