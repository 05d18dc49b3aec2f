#include "replayer/engine/linked_transfer.h"

#include <fmt/format.h>

namespace reprise {

Result<bool> LinkedTransfer::Test() {
  auto done = Advance();
  if (!done) {
    return Fail(done.error().kind, fmt::format("{}: {}", text_, done.error().message));
  }
  return done;
}

Result<bool> LinkedTransfer::Advance() {
  if (!enqueued_) {
    REPRISE_TRY(link_.group->Enqueue(transfer_, *link_.stream));
    enqueued_ = true;
  }
  // Asked until the end: another member may fail meanwhile.
  REPRISE_ASSIGN(const bool ready, link_.group->IsReady());
  if (end_ == nullptr) {
    if (!ready) {
      return false;
    }
    REPRISE_ASSIGN(end_, link_.stream->Record());
    REPRISE_TRY(link_.stream->Flush());
  }
  if (!end_->IsDone()) {
    return false;
  }
  REPRISE_TRY(end_->Wait());  // a failed device
  return true;
}

}  // namespace reprise
