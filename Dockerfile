# The light service: docker build -t tta . && docker run -p 8000:8000 tta
FROM python:3.13-slim
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir '.[serve]' && useradd --no-create-home tta
USER tta
EXPOSE 8000
HEALTHCHECK --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=5)"]
# Requests under other names than an address need --allowed_hosts.
ENTRYPOINT ["tta", "serve", "--host=0.0.0.0"]
