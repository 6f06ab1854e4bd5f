/* Every bound of the appliance, with its unit last in the name. Nothing grows without one. */

export const KIBIBYTE_BYTES = 1024;
export const MEBIBYTE_BYTES = 1024 * KIBIBYTE_BYTES;
export const GIBIBYTE_BYTES = 1024 * MEBIBYTE_BYTES;

/** Sums of maxima fit int32 up to this length: 65,535 × 32,767 < 2³¹. */
export const PROTEIN_MAX_RESIDUES = 65_535;
/** Targets of one release; target indices are uint32 and leave room for sentinels. */
export const RELEASE_MAX_TARGETS = 500_000_000;
/** Residues of one release; residue starts are uint32. */
export const RELEASE_MAX_RESIDUES = 4_294_967_295;
/** Shards of a build; Slurm's arrays have 1,001 tasks unless they are configured. */
export const BUILD_MAX_SHARDS = 1_000;
/** Directory of an archive of embeddings: some 80 bytes a protein, held while it is read. */
export const EMBEDDINGS_MAX_DIRECTORY_BYTES = 256 * 1024 * 1024;
/** The same of a batch: tasks, and parts of the database. */
export const BATCH_MAX_TASKS = 1_000;
/** Largest squared norm of an int8 residue vector, so that every dot product fits in int16. */
export const TOKEN_MAX_SQUARED_NORM = 32_767;
export const TOKEN_DIMENSIONS = [32, 64, 96, 128, 160, 192, 224, 256] as const;

export const INLINE_MAX_CANDIDATES = 5_000;
export const RETAINED_MAX_CANDIDATES = 10_000;
export const INLINE_RESPONSE_MAX_BYTES = 16 * MEBIBYTE_BYTES;
/** Up to this size a body that was written in pieces is sent as one. */
export const WRITTEN_BODY_MAX_BYTES = 256 * KIBIBYTE_BYTES;
export const DATABASE_SELECTOR_MAX_CHARACTERS = 256;
export const IDEMPOTENCY_KEY_MAX_CHARACTERS = 255;
export const IDEMPOTENCY_RETENTION_MS = 24 * 60 * 60 * 1000;

export const FILTER_MAX_DEPTH = 16;
export const FILTER_MAX_CLAUSES = 1_024;
export const FILTER_MAX_VALUES = 10_000;
export const FILTER_VALUE_MAX_CHARACTERS = 1_024;
/** A filter may be wrong in more places; the refusal lists these and says that it is invalid. */
export const FILTER_MAX_REPORTED_FAULTS = 256;
/** Values of contains_any and contains_all on text fields: each is looked for in every text of the release. */
export const FILTER_MAX_SUBSTRINGS = 1_024;
/** Distinct values of a field that are kept in memory, under a code each, from its first filter on. */
export const FILTER_DICTIONARY_MAX_VALUES = 262_144;

/** What `gloaming refresh` downloads at most unless it is told otherwise, and how long a server may say nothing. */
export const REFRESH_DOWNLOAD_MAX_BYTES = 64 * GIBIBYTE_BYTES;
export const REFRESH_SILENCE_TIMEOUT_MS = 60_000;
/** Earlier releases that a build looks for its sequences in. */
export const REUSED_RELEASES_MAX_COUNT = 16;

export const FASTA_ID_MAX_CHARACTERS = 256;
export const FASTA_LINE_MAX_BYTES = 64 * MEBIBYTE_BYTES;
/** What follows a header, white space included: 65,535 residues on lines of one letter with CRLF, and much to spare. */
export const FASTA_SEQUENCE_MAX_BYTES = MEBIBYTE_BYTES;
export const ATTRIBUTE_MAX_FIELDS = 256;
export const ATTRIBUTE_MAX_CHARACTERS = 32_768;
/** All attributes of one target together: bounds what a writer holds of a batch of targets. */
export const ATTRIBUTES_MAX_CHARACTERS = 65_536;

/** Receipts that are kept; the oldest go first. */
export const RECEIPTS_MAX_COUNT = 200_000;
/** Finished searches whose candidates are kept for an equal request. */
export const SEARCH_CACHE_MAX_CANDIDATES = 500_000;
/** One of a lab's own alignments of a protein. */
export const ALIGNMENT_MAX_BYTES = 64 * MEBIBYTE_BYTES;
export const ALIGNMENT_MAX_ROWS = 20_000;
/** Tokens of queries with relatives that are kept for an equal query, for each release. */
export const FAMILY_CACHE_MAX_BYTES = 64 * MEBIBYTE_BYTES;
/** Releases that are open (tables in memory, tokens mapped) at once; the one used longest ago is closed first. */
export const OPEN_RELEASES_MAX_COUNT = 16;
/** Compiled target spaces that are kept in memory, at most this many eligible targets in all. */
export const TARGET_SPACE_CACHE_MAX_TARGETS = 20_000_000;

/** Request bodies; a route may set its own. */
export const BODY_MAX_BYTES = MEBIBYTE_BYTES;
/** Bytes of a refused body that are read and thrown away, so that the client gets to read the refusal. */
export const BODY_DISCARD_MAX_BYTES = 16 * MEBIBYTE_BYTES;
/** Longest body of a request that was refused before it was read, of which the refusal still names the hash. */
export const REFUSED_BODY_READ_MAX_BYTES = 64 * KIBIBYTE_BYTES;
/** Levels of arrays and objects in a JSON body: room for the deepest filter, and a bound for recursion. */
export const JSON_MAX_DEPTH = 64;
/** Values in a JSON body: bounds the work and the memory of validation, whatever the body says. */
export const JSON_MAX_VALUES = 50_000;
/** White space in a row between two words of it, and characters of one number. */
export const JSON_BLANKS_MAX_BYTES = MEBIBYTE_BYTES;
export const JSON_NUMBER_MAX_BYTES = KIBIBYTE_BYTES;
/** From this size on, what reads a whole body pauses for other requests. */
export const BODY_IN_TURNS_BYTES = 256 * KIBIBYTE_BYTES;
/** Request line and headers together. */
export const HEADER_MAX_BYTES = 16 * KIBIBYTE_BYTES;
/** Places that one refusal lists; the message says how many there were. */
export const REFUSAL_MAX_LOCATIONS = 100;
/** Log lines that wait to be written. */
export const LOG_WAITING_MAX_BYTES = 8 * MEBIBYTE_BYTES;
/** Remembered keyed responses, in count and in bytes; at either, new keyed requests are refused. */
export const IDEMPOTENCY_MAX_RESPONSES = 1_000_000;
export const IDEMPOTENCY_MAX_BYTES = 4 * GIBIBYTE_BYTES;

/** Queries of one batch, and the FASTA text that may hold them. */
export const BATCH_MAX_QUERIES = 100_000;
export const BATCH_FASTA_MAX_CHARACTERS = 60 * MEBIBYTE_BYTES;
/** Body of a run: room for 100,000 queries of average length, each an object of two members. */
export const RUN_BODY_MAX_BYTES = 64 * MEBIBYTE_BYTES;
export const RUN_BODY_MAX_VALUES = 3 * BATCH_MAX_QUERIES + JSON_MAX_VALUES;
/** Runs that are queued or at work, in all and of one organization; one more is refused. */
export const UNFINISHED_RUNS_MAX_COUNT = 10_000;
export const UNFINISHED_RUNS_PER_ORGANIZATION_MAX_COUNT = 1_000;
/** Runs that are remembered; at the bound new ones are refused, and none is dropped before its time. */
export const RUNS_MAX_COUNT = 500_000;
/** How long the results of a finished run are kept; the run itself is remembered as long again. */
export const RUN_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
/** Longest that one request waits for the end of a run. */
export const RUN_WAIT_MAX_SECONDS = 60;
/**
 * Starts of one run without progress in between; then it fails, so that no run ends every server for ever. After the
 * first few, starts wait twice as long each time: a server that is killed for other reasons fails no run within hours.
 */
export const RUN_MAX_FRUITLESS_ATTEMPTS = 20;
export const RUN_PROMPT_ATTEMPTS_MAX_COUNT = 4;
export const RUN_ATTEMPT_WAIT_MAX_MS = 60 * 60 * 1000;
/** Rows, and bytes before compression, of one stored block of results. */
export const RUN_BLOCK_MAX_ROWS = 500;
export const RUN_BLOCK_MAX_BYTES = 4 * MEBIBYTE_BYTES;
/** Bytes of one page of results. */
export const RUN_PAGE_MAX_BYTES = 8 * MEBIBYTE_BYTES;
/** Streams of events that are open at once. */
export const RUN_STREAMS_MAX_COUNT = 1_000;
/** Runs that are looked at for one page of a filtered list. */
export const RUN_LIST_MAX_SCANNED = 2_000;
/** Queries that the kernels compare with each target together, and their residues. */
export const BATCH_PACK_MAX_QUERIES = 256;
export const BATCH_PACK_MAX_RESIDUES = 65_536;
/** Pairs of query and target in one search of many queries; a pair holds two int32 sums until it is ranked. */
export const BATCH_PACK_MAX_PAIRS = 16_000_000;
/** Candidates that one search of many queries may return, alignments included. */
export const BATCH_PACK_MAX_CANDIDATES = 100_000;
/** Queries of one search that are measured, judged and sealed at once. */
export const QUERIES_AT_WORK_MAX_COUNT = 4;
/** Runs that have a turn at once: one at the kernels, one whose results are written. */
export const RUNS_AT_WORK_MAX_COUNT = 2;

/** Path of a file that a run writes, in characters: bounded again in bytes where it is read. */
export const RUN_OUTPUT_PATH_MAX_CHARACTERS = 1_024;
/** Bytes of an export that are hashed and written before others get a turn. */
export const EXPORT_WRITE_MAX_BYTES = 256 * KIBIBYTE_BYTES;
/** Rows and bytes of text of one row group (Parquet) or record batch (Arrow): what an export holds in memory. */
export const EXPORT_GROUP_MAX_ROWS = 2_048;
export const EXPORT_GROUP_MAX_BYTES = 4 * MEBIBYTE_BYTES;
/** Candidates of one query that are written in another order than they were found in, or told of before the first. */
export const EXPORT_QUERY_MAX_BYTES = 256 * MEBIBYTE_BYTES;
/** Columns of a table that a caller names. */
export const EXPORT_FIELDS_MAX_COUNT = 64;
/** Their names, in characters. */
export const EXPORT_FIELDS_MAX_CHARACTERS = 1_024;
/** Distinct targets of a FASTA export: their ids are held until its end. */
export const EXPORT_FASTA_MAX_TARGETS = 2_000_000;

/** Folders within folders of what a predictor writes. */
export const PREDICTOR_OUTPUT_MAX_DEPTH = 8;
/** What is kept of its log: the beginning. */
export const PREDICTOR_LOG_MAX_BYTES = 4 * MEBIBYTE_BYTES;
/** From the request to end to being ended. */
export const PREDICTOR_KILL_GRACE_MS = 5_000;

/** Rows of one multiple sequence alignment, the query included, and the text that they make. */
export const MSA_MAX_DEPTH = 100_000;
export const MSA_DEFAULT_DEPTH = 5_000;
export const MSA_MAX_BYTES = 256 * MEBIBYTE_BYTES;
/** What a row of an alignment must have where nobody says otherwise: enough to be a relative, and to say something. */
export const MSA_DEFAULT_EXPECTED_FALSE_HITS = 1e-3;
export const MSA_DEFAULT_NORMALIZED_SCORE = 0.25;
export const MSA_DEFAULT_QUERY_COVERAGE = 0.5;
export const MSA_DEFAULT_PAIRWISE_IDENTITY = 0.95;
/** Alignments that are kept, in count and in bytes, and components; the oldest go first. */
export const MSAS_MAX_COUNT = 100_000;
export const MSAS_MAX_BYTES = 64 * GIBIBYTE_BYTES;
export const MSA_COMPONENTS_MAX_COUNT = 200_000;

// ColabFold's MSA interface (services/colabfold/).
/** Sequences of one ticket, and characters of the name of one: the id of a ticket holds them all. */
export const COLABFOLD_QUERIES_MAX_COUNT = 32;
export const COLABFOLD_NAME_MAX_CHARACTERS = 64;
export const COLABFOLD_FORM_MAX_BYTES = MEBIBYTE_BYTES;
/** Clients give up after 6 s and come again. */
export const COLABFOLD_ANSWER_MAX_MS = 5_000;
/** Of two rows more alike than this the first stays; rows differ by more as far as every 50 columns keep so many. */
export const COLABFOLD_PAIRWISE_IDENTITY = 0.95;
export const COLABFOLD_DIVERSE_ROWS = 3_000;
/** Text of one archive, and archives that are kept for a client that comes again. */
export const COLABFOLD_ARCHIVE_MAX_BYTES = 64 * MEBIBYTE_BYTES;
export const COLABFOLD_ARCHIVES_MAX_BYTES = 64 * MEBIBYTE_BYTES;
/** Runs of one sequence within a day, where those before have failed or were cancelled. */
export const COLABFOLD_ATTEMPTS_MAX_COUNT = 8;

/** One uploaded file, and its parts, as S3 bounds them. */
export const UPLOAD_MAX_BYTES = 5 * 1024 * GIBIBYTE_BYTES;
export const PART_MIN_BYTES = 5 * MEBIBYTE_BYTES;
export const PART_MAX_BYTES = 5 * GIBIBYTE_BYTES;
export const PART_DEFAULT_BYTES = 8 * MEBIBYTE_BYTES;
export const UPLOAD_MAX_PARTS = 10_000;
/** Part URLs that one request is given. */
export const PART_URLS_MAX_COUNT = 1_000;
/** How long an upload stays open, and how long what became of it is remembered after its end. */
export const UPLOAD_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
export const UPLOAD_MEMORY_MS = 30 * 24 * 60 * 60 * 1000;
/** A completion that has begun is not overtaken by the upload's expiry for so long. */
export const UPLOAD_COMPLETION_GRACE_MS = 60 * 60 * 1000;
export const PART_URL_LIFETIME_MS = 60 * 60 * 1000;
export const OPEN_UPLOADS_PER_ORGANIZATION_MAX_COUNT = 1_000;
/** Files of one organization: bounds what the deletion of a folder does in one transaction. */
export const FILES_PER_ORGANIZATION_MAX_COUNT = 100_000;
/** Paths of stored files. */
export const FILE_PATH_MAX_BYTES = 1_024;
export const FILE_PATH_SEGMENT_MAX_BYTES = 255;
export const FILE_PATH_MAX_DEPTH = 32;
export const FILE_URL_MAX_CHARACTERS = 8_192;
export const FILE_ACL_MAX_RULES = 256;
export const SIGNED_URL_MAX_SECONDS = 604_800;
export const SIGNED_URL_DEFAULT_SECONDS = 3_600;
/** A request with a body of bytes; at 250 kB/s this is the largest part. */
export const BYTE_BODY_MAX_MS = 6 * 60 * 60 * 1000;
/** A body of bytes that stands still for so long is given up. */
export const BYTE_BODY_IDLE_MS = 60_000;

/** Webhook endpoints of one organization. */
export const WEBHOOK_ENDPOINTS_MAX_COUNT = 32;
export const WEBHOOK_URL_MAX_CHARACTERS = 2_048;
/** Deliveries that are attempted at once: to one endpoint, of one organization, of all. */
export const WEBHOOK_ATTEMPTS_PER_ENDPOINT_MAX_COUNT = 2;
export const WEBHOOK_ATTEMPTS_PER_ORGANIZATION_MAX_COUNT = 8;
export const WEBHOOK_ATTEMPTS_AT_ONCE_MAX_COUNT = 256;
/** Of an organization's attempts, those that only endpoints which answer may take: as many as one of them has. */
export const WEBHOOK_ATTEMPTS_FOR_ANSWERING_COUNT = 2;
/** How long one attempt may take. */
export const WEBHOOK_ATTEMPT_TIMEOUT_MS = 15_000;
/** Bytes of an answer that are read before the connection is closed; only its status counts. */
export const WEBHOOK_ANSWER_MAX_BYTES = 16 * KIBIBYTE_BYTES;
/** How long deliveries can be looked up and sent again. */
export const WEBHOOK_DELIVERY_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
/** How long an earlier secret still signs after a rotation. */
export const WEBHOOK_SECRET_OVERLAP_MS = 24 * 60 * 60 * 1000;

/** SQL credentials of one organization that are active, and revoked ones that are remembered. */
export const SQL_CREDENTIALS_MAX_COUNT = 64;
/** Passwords that are checked at once, each of which takes 16 MiB and a core for some 50 ms, and that wait. */
export const SQL_PASSWORD_CHECKS_AT_ONCE_MAX_COUNT = 2;
export const SQL_PASSWORD_CHECKS_WAITING_MAX_COUNT = 128;
/** How long a password that was right is believed without being derived again. */
export const SQL_PASSWORD_BELIEF_MS = 60_000;
/** How often open sessions and statements look whether their credential still holds. */
export const SQL_CREDENTIAL_CHECK_INTERVAL_MS = 250;
export const SQL_STATEMENT_MAX_CHARACTERS = 100_000;
export const SQL_PARAMETERS_MAX_COUNT = 1_000;
/** Rows of one JSON answer, and of one result that is streamed. */
export const SQL_JSON_MAX_ROWS = 100_000;
export const SQL_RESULT_MAX_ROWS = 100_000_000;
export const SQL_TIMEOUT_MAX_SECONDS = 3_600;
/** An interrupted statement that has not ended by then takes its engine's process with it. */
export const SQL_INTERRUPT_GRACE_MS = 500;
/** Engines (one process for one organization) that are open at once, and how long one stands idle. */
export const SQL_ENGINES_MAX_COUNT = 8;
export const SQL_ENGINE_IDLE_MS = 5 * 60 * 1000;
/** How long an engine may take to start and to open its tables. */
export const SQL_ENGINE_START_MAX_MS = 30_000;
/** Statements of one organization that are at work at once, and that wait. */
export const SQL_STATEMENTS_AT_WORK_MAX_COUNT = 4;
export const SQL_STATEMENTS_WAITING_MAX_COUNT = 32;
/** Memory of an engine's process besides what the engine itself may take. */
export const SQL_PROCESS_OVERHEAD_BYTES = 384 * MEBIBYTE_BYTES;
/** Rows and bytes that travel from an engine at a time. */
export const SQL_BATCH_MAX_ROWS = 8_192;
export const SQL_BATCH_MAX_BYTES = 256 * KIBIBYTE_BYTES;
/** Rows of runs and usage are at most so old; the more they cost to gather, the older they may be. */
export const SQL_SNAPSHOT_MIN_AGE_MS = 1_000;
/** Usage entries of one Parquet file. */
export const SQL_USAGE_SEGMENT_ROWS = 65_536;
/** Rows, and characters of text, of one Parquet row group. */
export const PARQUET_GROUP_MAX_ROWS = 65_536;
export const PARQUET_GROUP_MAX_CHARACTERS = 64 * MEBIBYTE_BYTES;
/** A result that nobody fetches from for so long is given up. */
export const SQL_CURSOR_IDLE_MS = 5 * 60 * 1000;

/** Sessions of the PostgreSQL protocol: in all, and of one organization. */
export const POSTGRES_SESSIONS_MAX_COUNT = 128;
export const POSTGRES_SESSIONS_PER_ORGANIZATION_MAX_COUNT = 32;
/** Connections whose client has not yet sent its password; for one more, an older one is closed. */
export const POSTGRES_LOGINS_MAX_COUNT = 64;
/** From the connection to the login. */
export const POSTGRES_LOGIN_MAX_MS = 15_000;
/** One message before the login, and after it: a statement, or its parameters. */
export const POSTGRES_LOGIN_MESSAGE_MAX_BYTES = 10_000;
export const POSTGRES_MESSAGE_MAX_BYTES = 4 * MEBIBYTE_BYTES;
/** Bytes that are read ahead of the message at work. */
export const POSTGRES_READ_AHEAD_BYTES = MEBIBYTE_BYTES;
/** Prepared statements and open portals of one session. */
export const POSTGRES_STATEMENTS_MAX_COUNT = 256;
export const POSTGRES_PORTALS_MAX_COUNT = 16;

// The control store (store/).
/** Room of the control state on a full disk: the first half for everybody, the second for whoever frees room. */
export const CONTROL_RESERVE_BYTES = 16 * MEBIBYTE_BYTES;

// GPUs (kernels/turns.ts).
/** Attempts at GPU memory that only a search that was cancelled can still use, and the pause after each. */
export const GPU_BUSY_MAX_ATTEMPTS = 25;
export const GPU_BUSY_PAUSE_MS = 20;

// Workers (services/workers/).
/** Parts that a release is divided into for them. */
export const WORKER_MAX_PARTS = 256;
/** A request for surveys: its queries and its filter. */
export const SURVEY_REQUEST_MAX_BYTES = 16 * MEBIBYTE_BYTES;
/** What is read of a worker's refusal. */
export const WORKER_REFUSAL_MAX_BYTES = 16 * KIBIBYTE_BYTES;
/** Packs of runs that wait at a worker for their turn. */
export const WORKER_WAITING_PACKS_MAX_COUNT = 64;
/** Answers whose times say when the next worker is asked, too; until there are so few, and at the least. */
export const HEDGE_TIMES_MAX_COUNT = 64;
export const HEDGE_TIMES_MIN_COUNT = 8;
export const HEDGE_FIRST_MS = 2_000;
export const HEDGE_MIN_MS = 50;
/** A worker that has failed is asked after the others for so long. */
export const WORKER_DEPRIORITISED_MS = 30_000;
/** What clients are told to wait where a worker is missing and says nothing of it, and at most. */
export const WORKER_RETRY_SECONDS = 5;
export const WORKER_RETRY_MAX_SECONDS = 60;
