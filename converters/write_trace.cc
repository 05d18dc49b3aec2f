#include "converters/write_trace.h"

#include "et_schema/io.h"

namespace reprise {

Result<ConvertedRank> WriteTrace(const std::vector<Node>& nodes, const TraceMetadata& metadata,
                                 const OutputFiles& output) {
  REPRISE_ASSIGN(const auto writer, EtWriter::Create(output.Temporary(metadata.rank), metadata));
  ConvertedRank out{
      .rank = metadata.rank, .path = output.Final(metadata.rank), .nodes = nodes.size()};
  for (const Node& node : nodes) {
    out.edges += node.deps.size();
    out.transfers += node.comm ? 1 : 0;
    REPRISE_TRY(writer->Write(node));
  }
  REPRISE_TRY(writer->Close());
  return out;
}

}  // namespace reprise
