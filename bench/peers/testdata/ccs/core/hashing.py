def compute_content_hash(content):
    return str(len(content))
