// Hits of every FASTA file: nextflow run main.nf --proteins 'proteins/*.fasta' --database mylab
nextflow.enable.dsl = 2

include { GLOAMING_SEARCH } from './modules/gloaming/search/main'

params.proteins = 'proteins/*.fasta'
params.database = null
params.outdir = 'results'

workflow {
    proteins = Channel.fromPath(params.proteins, checkIfExists: true).map { file -> [[id: file.baseName], file] }
    GLOAMING_SEARCH(proteins, params.database ?: '')
    GLOAMING_SEARCH.out.tsv.collectFile(storeDir: params.outdir) { meta, tsv -> ["${meta.id}.tsv", tsv.text] }
}
