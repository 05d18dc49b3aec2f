#include "kernels/peer.h"

namespace reprise {

void Peers::Add(Result<std::unique_ptr<Peer>> peer) {
  if (peer) {
    here.push_back(std::move(*peer));
  } else {
    absent.push_back(peer.error().message);
  }
}

}  // namespace reprise
