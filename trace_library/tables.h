/* The trace library for programs in C, and for languages that load it: the nodes of an `.et` file
 * as columns (et_schema/node_columns.h). The interface for C++ is in the other public headers.
 *
 * Thread-safe: calls on different tables need no lock, and a table may be read by several threads.
 * Nothing is written to standard output, and no call ends the process. Numbers and the order of
 * members do not change within a MINOR version (docs/versions.md). */
#ifndef REPRISE_TRACE_LIBRARY_TABLES_H
#define REPRISE_TRACE_LIBRARY_TABLES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
const char* reprise_version(void);

typedef enum reprise_column_kind {
  REPRISE_INTEGER = 0,      /* int64_t */
  REPRISE_UNSIGNED = 1,     /* uint64_t; some value is 2^63 or more, none is negative */
  REPRISE_REAL = 2,         /* double */
  REPRISE_BOOLEAN = 3,      /* 0 or 1 */
  REPRISE_TEXT = 4,         /* number of a text, which is UTF-8 */
  REPRISE_BYTES = 5,        /* number of a text of any bytes */
  REPRISE_INTEGER_LIST = 6, /* where the list ends in `elements`; begins at the end before */
  REPRISE_TEXT_LIST = 7     /* the same; elements are numbers of texts */
} reprise_column_kind;

/* Pointers are valid until the table is freed. */
typedef struct reprise_column {
  const char* name;      /* UTF-8, with a zero at the end */
  uint64_t name_bytes;   /* without it */
  int32_t kind;          /* reprise_column_kind */
  uint64_t values;       /* how many rows have a value */
  const uint32_t* rows;  /* those rows, ascending; null: all */
  const uint64_t* cells; /* of each such row: 8 bytes, as `kind` says */
  uint64_t elements;
  const uint64_t* element; /* of all lists: int64_t, or numbers of texts */
  uint64_t texts;
  const uint64_t* text_end; /* of each text in `text`; it begins where the one before ends */
  const char* text;         /* no zeros between */
} reprise_column;

typedef struct reprise_table reprise_table;

/* One row a node: node_id, name, type (Chakra's number), start_ns, duration_ns, then each
 * attribute. with_arguments: at the end also the texts inputs.values, .shapes, .types and
 * outputs.*. Null: the file cannot be read as a table, and up to error_bytes bytes of the reason,
 * with a zero at the end, are in `error` (which may be null). Free the table with reprise_free. */
reprise_table* reprise_read_nodes(const char* path, int with_arguments, char* error,
                                  size_t error_bytes);
/* One row a dependency: from_node, to_node, reason (EdgeReason of et_schema/node.h), inferred. */
reprise_table* reprise_read_edges(const char* path, char* error, size_t error_bytes);
void reprise_free(reprise_table* table);

uint64_t reprise_rows(const reprise_table* table);
/* Of the file; the rows of reprise_read_nodes. */
uint64_t reprise_nodes(const reprise_table* table);
/* The file's header: Chakra's GlobalMetadata as protobuf's bytes. */
const char* reprise_header(const reprise_table* table, uint64_t* bytes);
uint64_t reprise_columns(const reprise_table* table);
/* Fills *column for index < reprise_columns(table). */
void reprise_get_column(const reprise_table* table, uint64_t index, reprise_column* column);

#ifdef __cplusplus
}
#endif

#endif
