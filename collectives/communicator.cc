#include "collectives/communicator.h"

#include <fmt/format.h>
#include <sched.h>

#include "core/clock.h"

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

Status Communicator::Await(Transfer& transfer) {
  constexpr std::int64_t kSpinNs = 10'000'000;  // then it takes long: leave the core to others
  const std::int64_t start_ns = MonotonicNs();
  while (true) {
    REPRISE_ASSIGN(const bool done, transfer.Test());
    if (done) {
      return {};
    }
    const std::int64_t now_ns = MonotonicNs();
    if (patience_ns_ >= 0 && now_ns - start_ns > patience_ns_) {
      return tl::unexpected<Error>(GiveUpWaiting());
    }
    if (now_ns - start_ns > kSpinNs) {
      WaitUntilNs(now_ns + 200'000, 0);
    } else {
      sched_yield();
    }
  }
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
