// A transfer that moves data from and to the device itself.
#pragma once

#include "collectives/communicator.h"

namespace reprise {

class DeviceSideTransfer : public Transfer {
 public:
  // Whether all of it is on its way: only then may the group's next transfer start, since all
  // members must start theirs in the same order.
  [[nodiscard]] virtual bool AllStarted() const = 0;
};

}  // namespace reprise
