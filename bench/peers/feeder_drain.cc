// Reads one .et with Chakra's C++ feeder and issues its nodes as a simulator would; prints how
// many. Compile it with Chakra's schema code, feeder and protoio.cc (README.md beside this file).
#include <cstddef>
#include <cstdio>

#include "et_feeder.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  Chakra::ETFeeder feeder(argv[1]);
  std::size_t nodes = 0;
  while (feeder.hasNodesToIssue()) {
    const auto node = feeder.getNextIssuableNode();
    if (node == nullptr) {
      break;
    }
    ++nodes;
    feeder.freeChildrenNodes(node->id());
    feeder.removeNode(node->id());
  }
  std::printf("%zu\n", nodes);
  return 0;
}
