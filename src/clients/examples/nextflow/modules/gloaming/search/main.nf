process GLOAMING_SEARCH {
    tag "$meta.id"
    label 'process_single'
    // The appliance does the work. Exit code 5: it was unreachable or had no capacity.
    errorStrategy { task.exitStatus == 5 ? 'retry' : 'terminate' }
    maxRetries 3

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(fasta)
    val database

    output:
    tuple val(meta), path("*.tsv"), emit: tsv
    path "versions.yml"           , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def chosen = database ? "--database '${database}'" : ''
    """
    python3 -m gloaming search '${fasta}' --out '${prefix}.tsv' ${chosen} ${args} --quiet

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gloaming-client: \$(python3 -c 'from importlib.metadata import version; print(version("gloaming-client"))')
    END_VERSIONS
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch '${prefix}.tsv'

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gloaming-client: stub
    END_VERSIONS
    """
}
