#include "collectives/communicator.h"

#include <fmt/format.h>

namespace reprise {
namespace {

// "" for success, else the kind's digit and the message.
std::string Encode(const Status& status) {
  if (status) {
    return {};
  }
  return std::to_string(static_cast<int>(status.error().kind)) + status.error().message;
}

}  // namespace

Error Communicator::GiveUpWaiting() {
  Error why{ErrorKind::kCheckFailed,
            fmt::format("no progress for {} s: some rank does not come to where all meet "
                        "between stages and iterations: it is stuck or stopped",
                        patience_ns_ / 1'000'000'000)};
  RaiseAbort(why);
  return why;
}

Status Communicator::Agree(const Status& mine) {
  REPRISE_ASSIGN(const std::vector<std::string> all, AllGather(Encode(mine)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) {
      continue;
    }
    const auto kind = static_cast<ErrorKind>(all[rank].front() - '0');
    const std::string message = all[rank].substr(1);
    return Fail(kind, all.size() == 1 ? message : fmt::format("rank {}: {}", rank, message));
  }
  return {};
}

}  // namespace reprise
